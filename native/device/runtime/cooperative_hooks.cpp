// Cooperative launches: the device says that it has them and runs them on queues like any other.
//
// For a cooperative queue ROCr asks the kernel driver for global wave sync, and the thunk's model ends the process on
// that request. Programs do not need it: HIP's grid barrier is made of atomics in memory, and a grid that fits runs
// at once because the engine places workgroups as the hardware does.
#include "runtime/hooks.h"

namespace rpd {
namespace {

hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  const hsa_status_t status = original().core.hsa_agent_get_info_fn(agent, attribute, value);
  if (status != HSA_STATUS_SUCCESS || attribute != static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES)) return status;
  hsa_device_type_t kind;
  if (original().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &kind) != HSA_STATUS_SUCCESS) return status;
  *static_cast<bool*>(value) = kind == HSA_DEVICE_TYPE_GPU;
  return status;
}

}  // namespace

hsa_queue_type32_t without_global_wave_sync(hsa_queue_type32_t type) {
  return type == HSA_QUEUE_TYPE_COOPERATIVE ? HSA_QUEUE_TYPE_MULTI : type;
}

void hook_cooperative_launches(CoreApiTable& core) { core.hsa_agent_get_info_fn = agent_get_info; }

}  // namespace rpd
