// Code objects as ROCr's loader placed them in device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "isa/code_object.h"
#include "runtime/hooks.h"

namespace rpd {

struct LoadedCode {
  uint64_t number = 0;   // 1 for the first that the process loaded
  uint64_t base = 0;     // device address
  uint64_t size = 0;
  int64_t delta = 0;     // device address - ELF address
  std::shared_ptr<const CodeObject> object;  // null if its file cannot be read
};

// Where the device address is; null if it is in no code object that was loaded after remember_code().
std::shared_ptr<const LoadedCode> loaded_code_at(uint64_t address);

// Keeps a copy of the code objects of an executable that was just frozen.
void remember_code(hsa_executable_t executable);

}  // namespace rpd
