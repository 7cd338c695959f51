// The counters that the device keeps for every dispatch.
#pragma once

#include <vector>

#include "include/rocm_perf_device.h"

namespace rpd {

// In the order of DispatchResult::counters.
const std::vector<rpd_counter_info>& counter_table();

}  // namespace rpd
