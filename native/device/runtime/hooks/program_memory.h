// The program's memory, as the HSA interface saw it being given to the program.
#pragma once

#include <hsa/hsa.h>

#include "memory/program_memory.h"

namespace rpd {

// One for all devices of the process: what a program allocates, all of its GPUs may be let use. Never destroyed.
ProgramMemory& program_memory();

// The code objects of an executable that was just frozen: their variables are the program's, their code is not. And no
// more, once it is destroyed.
void own_variables_of(hsa_executable_t executable);
void disown_variables_of(hsa_executable_t executable);

}  // namespace rpd
