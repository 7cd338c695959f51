// What the device reports about itself beyond what ROCr takes from the topology: that it supports cooperative launches, and
// its name.
//
// For a cooperative queue, ROCr asks the kernel driver for global wave sync, which the thunk's model does not have. Here it is
// not needed. HIP's grid barrier uses atomics in memory or, on gfx90a, ds_gws_* instructions, which the engine executes itself.
// And since the engine places workgroups as the hardware does, all workgroups of a grid that fits are resident. So cooperative
// queues are treated like any other queue.
//
// A real device's name comes from the graphics half of the driver. Here it comes from the topology.
#include <cstring>
#include <string>

#include "runtime/hooks/hooks.h"
#include "runtime/topology.h"

namespace rpd {
namespace {

constexpr size_t kNameBytes = 64;  // the size of ROCr's buffer for a name

bool is_gpu(hsa_agent_t agent) {
  hsa_device_type_t kind;
  return original().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &kind) == HSA_STATUS_SUCCESS &&
         kind == HSA_DEVICE_TYPE_GPU;
}

// Reads the name from a file that is part of the topology but is not read by ROCr.
std::string product_name(hsa_agent_t agent) {
  uint32_t node = 0;
  original().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_NODE, &node);
  return topology_line(node, "product_name").substr(0, kNameBytes - 1);
}

hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  const hsa_status_t status = original().core.hsa_agent_get_info_fn(agent, attribute, value);
  if (status != HSA_STATUS_SUCCESS) return status;
  if (attribute == static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES))
    *static_cast<bool*>(value) = is_gpu(agent);
  if (attribute == static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_PRODUCT_NAME) && is_gpu(agent))
    std::strncpy(static_cast<char*>(value), product_name(agent).c_str(), kNameBytes);
  return status;
}

}  // namespace

hsa_queue_type32_t without_global_wave_sync(hsa_queue_type32_t type) {
  return type == HSA_QUEUE_TYPE_COOPERATIVE ? HSA_QUEUE_TYPE_MULTI : type;
}

void hook_agents(CoreApiTable& core) { core.hsa_agent_get_info_fn = agent_get_info; }

}  // namespace rpd
