// The parameters behind every modelled time, as far as other parts of the device need them.
#pragma once

#include <cstdint>

namespace rpd {

// From the moment a dispatch may start to its first wave.
uint64_t launch_overhead_ns();
// What submitting one kernel or copy costs the host thread.
uint64_t submit_cost_ns();
// Nanoseconds for moving `bytes` by a copy engine; across the link between host and device, or within the device's memory.
uint64_t copy_duration_ns(uint64_t bytes, bool crosses_host_link);
// Identifies the set of parameters; a constant of the build.
const char* timing_parameters_hash();

}  // namespace rpd
