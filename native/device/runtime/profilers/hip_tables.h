// The tables through which HIP's entry points call what they are entry points to.
#pragma once

#include <cstdint>

namespace rpd {

struct HipTables {
  void* runtime = nullptr;   // HipDispatchTable; null if it was not found
  void* compiler = nullptr;  // HipCompilerDispatchTable; likewise
  uint64_t version = 0;      // of five digits
};

// Of the HIP that the process has loaded, if any.
HipTables find_hip_tables();

}  // namespace rpd
