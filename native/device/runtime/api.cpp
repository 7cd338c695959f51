// rpd_get_api: what the device offers to tools in the same process.
#include "include/rocm_perf_device.h"
#include "runtime/dispatch_records.h"
#include "timing/counters.h"
#include "timing/parameters.h"

namespace {

void record_dispatches(int enabled) { rpd::dispatch_records().enable(enabled != 0); }

int take_counters(uint64_t completion_signal, double* values) {
  return rpd::dispatch_records().take(completion_signal, values);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const rpd_api* rpd_get_api() {
  static const rpd_api api{
      .version = RPD_API_VERSION,
      .device = "software gfx942",
      .timing = "modelled",
      .parameters_hash = rpd::timing_parameters_hash(),
      .counter_count = static_cast<uint32_t>(rpd::counter_table().size()),
      .counters = rpd::counter_table().data(),
      .record_dispatches = record_dispatches,
      .take_counters = take_counters,
  };
  return &api;
}
