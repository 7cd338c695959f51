#include "tracer/agents.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "spool/json.h"
#include "tracer/recorder.h"
#include "tracer/topology.h"

namespace rpd::tracer {
namespace {

using spool::JsonObject;

struct AgentIds {
  uint64_t handle;
  uint32_t node;
  bool gpu;
  std::string isa;
};

std::vector<AgentIds>& known_agents() {
  static auto& agents = *new std::vector<AgentIds>;
  return agents;
}

// Returns 0 (text_info() returns an empty string) for attributes that this version of ROCr does not know.
template <class T>
T info(hsa_agent_t agent, int attribute) {
  T value{};
  hsa.core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(attribute), &value);
  return value;
}

std::string text_info(hsa_agent_t agent, int attribute) {
  char text[256] = {};
  hsa.core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(attribute), text);
  return text;
}

// The properties that HSA itself reports, under the driver's names, so that the important keys exist even without a topology
// folder.
Properties hsa_properties(hsa_agent_t agent, bool gpu) {
  Properties p;
  const auto units = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  p[gpu ? "max_engine_clk_fcompute" : "max_engine_clk_ccompute"] =
      info<uint32_t>(agent, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
  p["device_id"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_CHIP_ID);
  p["location_id"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_BDFID);
  p["domain"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_DOMAIN);
  if (!gpu) {
    p["cpu_cores_count"] = units;
    return p;
  }
  const auto simds = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU);
  p["simd_per_cu"] = simds;
  p["simd_count"] = uint64_t(units) * simds;
  if (simds != 0) p["max_waves_per_simd"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU) / simds;
  p["wave_front_size"] = info<uint32_t>(agent, HSA_AGENT_INFO_WAVEFRONT_SIZE);
  p["num_xcc"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_XCC);
  p["family_id"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID);
  p["num_sdma_engines"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SDMA_ENG);
  p["num_sdma_xgmi_engines"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG);
  p["simd_arrays_per_engine"] = info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE);
  p["array_count"] = uint64_t(info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES)) *
                     info<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE);
  return p;
}

// Adds the counts that rocprofv3 derives from the driver's properties.
void add_derived(Properties& p, bool gpu) {
  if (!gpu) {
    p["cu_count"] = p["cpu_cores_count"];
    return;
  }
  if (p["simd_per_cu"] == 0) return;
  const uint64_t compute_units = p["simd_count"] / p["simd_per_cu"];
  p["cu_count"] = compute_units;
  p["max_waves_per_cu"] = p["simd_per_cu"] * p["max_waves_per_simd"];
  if (p["simd_arrays_per_engine"] == 0) return;
  p["num_shader_banks"] = p["array_count"] / p["simd_arrays_per_engine"];
  if (p["num_shader_banks"] != 0) p["cu_per_engine"] = compute_units / p["num_shader_banks"];
}

std::string json_of(const Properties& properties) {
  JsonObject object;
  for (const auto& [key, value] : properties) object.number(key, value);
  return object.str();
}

std::string json_of(const std::vector<Properties>& list) {
  std::string text = "[";
  for (const Properties& properties : list) text += (text.size() > 1 ? "," : "") + json_of(properties);
  return text + "]";
}

std::string extdata(hsa_agent_t agent, const AgentIds& ids, const TopologyNode& node, const std::string& name,
                    const std::string& vendor, const std::string& product, uint32_t type_index) {
  Properties p = hsa_properties(agent, ids.gpu);
  for (const auto& [key, value] : node.properties) p[key] = value;
  add_derived(p, ids.gpu);
  p["type"] = ids.gpu ? 2 : 1;  // rocprofiler-sdk's numbering
  p["gpu_id"] = node.gpu_id;
  p["node_id"] = p["logical_node_id"] = ids.node;
  p["logical_node_type_id"] = type_index;
  if (ids.gpu) {
    p["workgroup_max_size"] = info<uint32_t>(agent, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
    p["grid_max_size"] = info<uint32_t>(agent, HSA_AGENT_INFO_GRID_MAX_SIZE);
  }
  JsonObject object;
  for (const auto& [key, value] : p) object.number(key, value);
  object.raw("id", JsonObject().number("handle", agent.handle).str());
  object.text("name", name).text("vendor_name", vendor).text("product_name", product).text("model_name", node.name);
  object.raw("gpu_index", ids.gpu ? std::to_string(type_index) : "-1");
  object.raw("mem_banks", json_of(node.mem_banks));
  object.raw("caches", json_of(node.caches));
  object.raw("io_links", json_of(node.io_links));
  return object.str();
}

void record_agent(hsa_agent_t agent, const AgentIds& ids, uint32_t type_index) {
  const TopologyNode node = read_topology_node(ids.node);
  const std::string name = text_info(agent, HSA_AGENT_INFO_NAME);
  const std::string vendor = text_info(agent, HSA_AGENT_INFO_VENDOR_NAME);
  const std::string marketing = text_info(agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
  const std::string& product = ids.gpu && !marketing.empty() ? marketing : name;
  spool::Agent record_of_agent{};
  record_of_agent.node_id = ids.node;
  record_of_agent.gpu = ids.gpu;
  record_of_agent.type_index = type_index;
  record_of_agent.device_id = ids.gpu ? info<uint32_t>(agent, HSA_AMD_AGENT_INFO_CHIP_ID) : 0;
  record(spool::Kind::agent, record_of_agent,
         {name, node.name, vendor, product, extdata(agent, ids, node, name, vendor, product, type_index)});
}

hsa_status_t remember(hsa_agent_t agent, void*) {
  const auto type = info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE);
  if (type != HSA_DEVICE_TYPE_CPU && type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  known_agents().push_back({agent.handle, info<uint32_t>(agent, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID), type == HSA_DEVICE_TYPE_GPU,
                            text_info(agent, HSA_AGENT_INFO_NAME)});
  return HSA_STATUS_SUCCESS;
}

const AgentIds* find(hsa_agent_t agent) {
  for (const AgentIds& ids : known_agents())
    if (ids.handle == agent.handle) return &ids;
  return nullptr;
}

}  // namespace

void record_agents() {
  hsa.core.hsa_iterate_agents_fn(remember, nullptr);
  auto& agents = known_agents();
  std::sort(agents.begin(), agents.end(), [](auto& a, auto& b) { return a.node < b.node; });
  uint32_t count_of_type[2] = {0, 0};
  for (const AgentIds& ids : agents) record_agent({ids.handle}, ids, count_of_type[ids.gpu]++);
}

uint32_t node_of(hsa_agent_t agent) {
  const AgentIds* ids = find(agent);
  return ids == nullptr ? 0 : ids->node;
}

uint32_t host_node() {
  for (const AgentIds& ids : known_agents())
    if (!ids.gpu) return ids.node;
  return 0;
}

const std::string& isa_name_of(hsa_agent_t agent) {
  static const std::string& unknown = *new std::string;
  const AgentIds* ids = find(agent);
  return ids == nullptr ? unknown : ids->isa;
}

}  // namespace rpd::tracer
