// HIP's dispatch tables, through which exported entry points call their implementations.
#pragma once

#include <cstdint>

namespace rpd::preload {

struct HipTables {
  void* library = nullptr;   // of dlopen()
  void* runtime = nullptr;   // HipDispatchTable; null if it was not found
  void* compiler = nullptr;  // HipCompilerDispatchTable; likewise
  uint64_t version = 0;      // of five digits
};

// The tables of the HIP that the process has loaded; empty if it has none.
HipTables find_hip_tables();

}  // namespace rpd::preload
