// Returns the times of finished work as the device wrote them.
//
// ROCr converts a signal's ticks to system time with clock counters that the thunk's model leaves at zero, so the result is
// always 0/0. The device's ticks are already system time.
#include "runtime/hooks/hooks.h"
#include "runtime/queues/signals.h"

namespace rpd {
namespace {

const amd_signal_t& of(hsa_signal_t signal) { return *reinterpret_cast<const amd_signal_t*>(signal.handle); }

hsa_status_t get_dispatch_time(hsa_agent_t, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* time) {
  if (signal.handle == 0 || !time) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *time = {of(signal).start_ts, of(signal).end_ts};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time) {
  if (signal.handle == 0 || !time) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *time = {of(signal).start_ts, of(signal).end_ts};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t convert_tick_to_system_domain(hsa_agent_t, uint64_t tick, uint64_t* system_tick) {
  if (!system_tick) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *system_tick = tick;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

void hook_times(AmdExtTable& amd) {
  amd.hsa_amd_profiling_get_dispatch_time_fn = get_dispatch_time;
  amd.hsa_amd_profiling_get_async_copy_time_fn = get_async_copy_time;
  amd.hsa_amd_profiling_convert_tick_to_system_domain_fn = convert_tick_to_system_domain;
}

}  // namespace rpd
