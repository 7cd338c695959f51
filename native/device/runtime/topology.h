// The folder that takes the place of the driver's topology (HSA_MODEL_TOPOLOGY): what ROCr is told about the device.
#pragma once

#include <cstdint>
#include <string>

namespace rpd {

// The first line of a node's file, without its end; empty if there is none.
std::string topology_line(uint32_t node, const std::string& file);
// The number of a node's property; 0 if it has none of that name.
uint64_t topology_property(uint32_t node, const std::string& name);
// The version of the first GPU: 90402 is a gfx942. 0 if no node is one.
uint32_t topology_gpu_version();
// The node of a GPU, which are counted from 0.
uint32_t topology_gpu_node(uint32_t number);

}  // namespace rpd
