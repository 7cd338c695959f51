// Code objects as ROCr's loader placed them in device memory.
#pragma once

#include <hsa/hsa_ven_amd_loader.h>

#include <cstdint>
#include <memory>

#include "isa/code_object.h"
#include "runtime/hooks/hooks.h"

namespace rpd {

struct LoadedCode {
  uint64_t number = 0;   // counted from 1, in the order of loading
  uint64_t base = 0;     // device address
  uint64_t size = 0;
  int64_t delta = 0;     // device address - ELF address
  std::shared_ptr<const CodeObject> object;  // null if its bytes are not in memory or not valid
};

// The loaded code object that contains the device address; null if remember_code() has not recorded one.
std::shared_ptr<const LoadedCode> loaded_code_at(uint64_t address);

const hsa_ven_amd_loader_1_03_pfn_t& code_loader();

// An attribute of a code object, as reported by ROCr's loader.
template <class T>
T code_info(hsa_loaded_code_object_t object, hsa_ven_amd_loader_loaded_code_object_info_t attribute) {
  T value{};
  code_loader().hsa_ven_amd_loader_loaded_code_object_get_info(object, attribute, &value);
  return value;
}

// Keeps a copy of the code objects of an executable that has just been frozen.
void remember_code(hsa_executable_t executable);

}  // namespace rpd
