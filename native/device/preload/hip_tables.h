// The tables through which HIP's entry points call what they are entry points to.
#pragma once

#include <cstdint>

namespace rpd::preload {

struct HipTables {
  void* library = nullptr;   // of dlopen()
  void* runtime = nullptr;   // HipDispatchTable; null if it was not found
  void* compiler = nullptr;  // HipCompilerDispatchTable; likewise
  uint64_t version = 0;      // of five digits
};

// Of the HIP that the process has loaded; empty if it has none.
HipTables find_hip_tables();

}  // namespace rpd::preload
