#include "runtime/hooks/program_memory.h"

namespace rpd {

ProgramMemory& program_memory() {
  static auto* memory = new ProgramMemory;
  return *memory;
}

}  // namespace rpd
