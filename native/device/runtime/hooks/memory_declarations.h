// The memory that belongs to the program, recorded at the HSA interface when it is allocated or mapped for the program.
#pragma once

#include <hsa/hsa.h>

#include "memory/writable_memory.h"

namespace rpd {

// One object for all devices of the process, since a program may give any of its GPUs access to its allocations. Never
// destroyed.
WritableMemory& writable_memory();

// Declare the code objects of an executable that has just been frozen (the program owns their variables but not their code),
// and undo this when the executable is destroyed.
void own_variables_of(hsa_executable_t executable);
void disown_variables_of(hsa_executable_t executable);

}  // namespace rpd
