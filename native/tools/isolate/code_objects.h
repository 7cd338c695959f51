// Loaded code objects and their kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/format.h"
#include "isolate/memory_map.h"

namespace rpd::isolate {

struct LoadedObject {
  uint64_t executable = 0;
  hsa_agent_t agent{};
  capture::CodeObject location;
  std::vector<capture::Variable> variables;
  std::shared_ptr<const std::vector<unsigned char>> file;  // kept only for objects that contain a wanted kernel
};

struct LoadedKernel {
  capture::Kernel kernel;
  bool wanted = false;
  std::shared_ptr<const LoadedObject> object;
};

// The kernel whose descriptor is at this address; null if ROCr has not reported one there.
std::shared_ptr<const LoadedKernel> kernel_at(uint64_t kernel_object);

std::vector<Source> loaded_code();

}  // namespace rpd::isolate
