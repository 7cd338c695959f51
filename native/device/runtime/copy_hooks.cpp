// Copies carry the submitting thread's virtual time and all their dependencies to the copy engine.
#include "runtime/copy_orders.h"
#include "runtime/device.h"
#include "runtime/hooks.h"
#include "runtime/virtual_clock.h"
#include "timing/parameters.h"

namespace rpd {
namespace {

// Submits a copy by `submit`, which is ROCr's own function.
template <class Submit>
hsa_status_t order_copy(hsa_signal_t completion, uint32_t dependency_count, const hsa_signal_t* dependencies,
                        Submit submit) {
  virtual_clock::advance_by(submit_cost_ns());
  copy_orders().submitted(completion, virtual_clock::now(), dependencies ? dependency_count : 0, dependencies);
  const hsa_status_t status = submit();
  if (status != HSA_STATUS_SUCCESS) copy_orders().withdraw(completion);
  for (Device* device : devices()) device->wake_queues();
  return status;
}

hsa_status_t async_copy(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent,
                        size_t size, uint32_t dependency_count, const hsa_signal_t* dependencies,
                        hsa_signal_t completion) {
  return order_copy(completion, dependency_count, dependencies, [&] {
    return original().amd.hsa_amd_memory_async_copy_fn(target, target_agent, source, source_agent, size,
                                                       dependency_count, dependencies, completion);
  });
}

hsa_status_t async_copy_on_engine(void* target, hsa_agent_t target_agent, const void* source,
                                  hsa_agent_t source_agent, size_t size, uint32_t dependency_count,
                                  const hsa_signal_t* dependencies, hsa_signal_t completion,
                                  hsa_amd_sdma_engine_id_t engine, bool force) {
  return order_copy(completion, dependency_count, dependencies, [&] {
    return original().amd.hsa_amd_memory_async_copy_on_engine_fn(target, target_agent, source, source_agent, size,
                                                                 dependency_count, dependencies, completion, engine,
                                                                 force);
  });
}

hsa_status_t async_copy_rect(const hsa_pitched_ptr_t* target, const hsa_dim3_t* target_offset,
                             const hsa_pitched_ptr_t* source, const hsa_dim3_t* source_offset,
                             const hsa_dim3_t* range, hsa_agent_t agent, hsa_amd_copy_direction_t direction,
                             uint32_t dependency_count, const hsa_signal_t* dependencies, hsa_signal_t completion) {
  return order_copy(completion, dependency_count, dependencies, [&] {
    return original().amd.hsa_amd_memory_async_copy_rect_fn(target, target_offset, source, source_offset, range,
                                                            agent, direction, dependency_count, dependencies,
                                                            completion);
  });
}

}  // namespace

void hook_copies(AmdExtTable& amd) {
  amd.hsa_amd_memory_async_copy_fn = async_copy;
  amd.hsa_amd_memory_async_copy_on_engine_fn = async_copy_on_engine;
  amd.hsa_amd_memory_async_copy_rect_fn = async_copy_rect;
}

}  // namespace rpd
