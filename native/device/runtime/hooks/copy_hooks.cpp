// Passes the submitting thread's virtual time and all dependencies of a copy to the copy engine.
#include <map>
#include <mutex>
#include <utility>

#include "runtime/device.h"
#include "runtime/hooks/hooks.h"
#include "runtime/queues/copy_dependencies.h"
#include "runtime/virtual_clock.h"
#include "timing/parameters.h"

namespace rpd {
namespace {

// Records a copy's dependencies and the virtual time at which it is submitted, then submits it with `submit`, ROCr's own
// function.
template <class Submit>
hsa_status_t order_copy(hsa_signal_t completion, uint32_t dependency_count, const hsa_signal_t* dependencies, Submit submit) {
  virtual_clock::advance_by(submit_cost_ns());
  copy_dependencies().submitted(completion, virtual_clock::now(), dependencies ? dependency_count : 0, dependencies);
  const hsa_status_t status = submit();
  if (status != HSA_STATUS_SUCCESS) copy_dependencies().withdraw(completion);
  for (Device* device : devices()) device->wake_queues();
  return status;
}

hsa_status_t async_copy(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent, size_t size,
                        uint32_t dependency_count, const hsa_signal_t* dependencies, hsa_signal_t completion) {
  return order_copy(completion, dependency_count, dependencies, [&] {
    return original().amd.hsa_amd_memory_async_copy_fn(target, target_agent, source, source_agent, size, dependency_count,
                                                       dependencies, completion);
  });
}

hsa_status_t async_copy_on_engine(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent,
                                  size_t size, uint32_t dependency_count, const hsa_signal_t* dependencies,
                                  hsa_signal_t completion, hsa_amd_sdma_engine_id_t engine, bool force) {
  return order_copy(completion, dependency_count, dependencies, [&] {
    return original().amd.hsa_amd_memory_async_copy_on_engine_fn(target, target_agent, source, source_agent, size,
                                                                 dependency_count, dependencies, completion, engine, force);
  });
}

hsa_status_t async_copy_rect(const hsa_pitched_ptr_t* target, const hsa_dim3_t* target_offset, const hsa_pitched_ptr_t* source,
                             const hsa_dim3_t* source_offset, const hsa_dim3_t* range, hsa_agent_t agent,
                             hsa_amd_copy_direction_t direction, uint32_t dependency_count, const hsa_signal_t* dependencies,
                             hsa_signal_t completion) {
  return order_copy(completion, dependency_count, dependencies, [&] {
    return original().amd.hsa_amd_memory_async_copy_rect_fn(target, target_offset, source, source_offset, range, agent,
                                                            direction, dependency_count, dependencies, completion);
  });
}

// Which engines are free depends on real time, and HIP distributes its copies accordingly. In modelled time every engine that
// supports such a copy accepts it: an engine that has ever been free counts as free (at the first query, all are free).
hsa_status_t copy_engine_status(hsa_agent_t target, hsa_agent_t source, uint32_t* free_engines) {
  static std::mutex mutex;
  static std::map<std::pair<uint64_t, uint64_t>, uint32_t> usable;
  const hsa_status_t status = original().amd.hsa_amd_memory_copy_engine_status_fn(target, source, free_engines);
  if (!free_engines || (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_ERROR_OUT_OF_RESOURCES)) return status;
  std::lock_guard lock(mutex);
  uint32_t& engines = usable[{target.handle, source.handle}];
  engines |= *free_engines;
  *free_engines = engines;
  return engines ? HSA_STATUS_SUCCESS : status;
}

}  // namespace

void hook_copies(AmdExtTable& amd) {
  amd.hsa_amd_memory_copy_engine_status_fn = copy_engine_status;
  amd.hsa_amd_memory_async_copy_fn = async_copy;
  amd.hsa_amd_memory_async_copy_on_engine_fn = async_copy_on_engine;
  amd.hsa_amd_memory_async_copy_rect_fn = async_copy_rect;
}

}  // namespace rpd
