// The program's memory, as observed at the HSA interface when it is given to the program.
#pragma once

#include <hsa/hsa.h>

#include "memory/writable_memory.h"

namespace rpd {

// One for all devices of the process, since a program may give any of its GPUs access to its allocations. Never destroyed.
WritableMemory& writable_memory();

// Declare the code objects of an executable that has just been frozen (their variables are the program's, their code is not),
// and undo this when it is destroyed.
void own_variables_of(hsa_executable_t executable);
void disown_variables_of(hsa_executable_t executable);

}  // namespace rpd
