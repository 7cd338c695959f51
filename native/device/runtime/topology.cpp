#include "runtime/topology.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rpd {
namespace {

std::filesystem::path folder_of(uint32_t node) {
  const char* topology = std::getenv("HSA_MODEL_TOPOLOGY");
  return std::filesystem::path(topology ? topology : "") / "nodes" / std::to_string(node);
}

}  // namespace

std::string topology_line(uint32_t node, const std::string& file) {
  std::ifstream in(folder_of(node) / file);
  std::string line;
  std::getline(in, line);
  return line;
}

uint64_t topology_property(uint32_t node, const std::string& name) {
  std::ifstream in(folder_of(node) / "properties");
  std::string key;
  for (uint64_t value = 0; in >> key >> value;)
    if (key == name) return value;
  return 0;
}

uint32_t topology_gpu_node(uint32_t number) {
  std::error_code error;
  for (uint32_t node = 0; std::filesystem::exists(folder_of(node), error); ++node)
    if (topology_property(node, "gfx_target_version") && number-- == 0) return node;
  return 0;
}

uint32_t topology_gpu_version() { return static_cast<uint32_t>(topology_property(topology_gpu_node(0), "gfx_target_version")); }

}  // namespace rpd
