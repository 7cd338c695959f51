#include "timing/parameters.h"

#include "timing_parameters.inc.h"

namespace rpd {

uint64_t launch_overhead_ns() { return parameter::dispatch_gap_ns; }
uint64_t submit_cost_ns() { return parameter::submit_cost_ns; }
const char* timing_parameters_hash() { return parameter::hash; }

uint64_t copy_duration_ns(uint64_t bytes, bool crosses_host_link) {
  const uint64_t gbps = crosses_host_link ? parameter::host_link_gbps : parameter::device_copy_gbps;
  return parameter::copy_overhead_ns + bytes / gbps;  // GB/s are bytes per nanosecond
}

}  // namespace rpd
