// HIP's dispatch tables, through which exported entry points call their implementations.
#pragma once

#include <cstdint>

namespace rpd::preload {

struct HipTables {
  void* library = nullptr;   // the handle from dlopen()
  void* runtime = nullptr;   // HipDispatchTable; null if not found
  void* compiler = nullptr;  // HipCompilerDispatchTable; null if not found
  uint64_t version = 0;      // a number of five digits
};

// The tables of the HIP library that the process has loaded; empty if it has loaded none.
HipTables find_hip_tables();

}  // namespace rpd::preload
