#include "tracer/topology.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rpd::tracer {
namespace {

namespace fs = std::filesystem;

Properties read_properties(const fs::path& file) {
  Properties properties;
  std::ifstream in(file);
  std::string key;
  uint64_t value;
  while (in >> key >> value) properties[key] = value;
  return properties;
}

std::vector<Properties> read_children(const fs::path& folder) {
  std::vector<Properties> children;
  for (int i = 0;; ++i) {
    const fs::path file = folder / std::to_string(i) / "properties";
    std::error_code error;
    if (!fs::exists(file, error)) return children;
    children.push_back(read_properties(file));
  }
}

}  // namespace

TopologyNode read_topology_node(uint32_t node_id) {
  const char* model = std::getenv("HSA_MODEL_TOPOLOGY");
  const fs::path folder =
      fs::path(model != nullptr ? model : "/sys/class/kfd/kfd/topology") / "nodes" / std::to_string(node_id);
  TopologyNode node;
  node.properties = read_properties(folder / "properties");
  std::ifstream name(folder / "name");
  std::getline(name, node.name);
  std::ifstream(folder / "gpu_id") >> node.gpu_id;
  node.mem_banks = read_children(folder / "mem_banks");
  node.caches = read_children(folder / "caches");
  node.io_links = read_children(folder / "io_links");
  return node;
}

}  // namespace rpd::tracer
