// The folder that replaces the driver's topology (HSA_MODEL_TOPOLOGY) and so describes the device to ROCr.
#pragma once

#include <cstdint>
#include <string>

namespace rpd {

// The first line of a node's file, without the newline; empty if there is none.
std::string topology_line(uint32_t node, const std::string& file);
// The value of a node's numeric property; 0 if the node has no property of that name.
uint64_t topology_property(uint32_t node, const std::string& name);
// The target version of the first GPU, such as 90402 for gfx942; 0 if no node is a GPU.
uint32_t topology_gpu_version();
// The node of the GPU with this number; GPUs are numbered from 0.
uint32_t topology_gpu_node(uint32_t number);

}  // namespace rpd
