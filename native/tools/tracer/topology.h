// KFD's own description of a node, which contains more than HSA passes on (simd_count, lds_size_in_kb, location_id, ...).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rpd::tracer {

using Properties = std::map<std::string, uint64_t>;

struct TopologyNode {
  Properties properties;
  std::string name;  // the model's name, e.g. "ip discovery"
  uint64_t gpu_id = 0;
  std::vector<Properties> mem_banks, caches, io_links;
};

// Reads the node from the driver's sysfs, or from the topology folder of a GPU model. Missing entries stay empty.
TopologyNode read_topology_node(uint32_t node_id);

}  // namespace rpd::tracer
