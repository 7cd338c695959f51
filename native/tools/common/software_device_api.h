// Access to the software device, if the process runs on it.
#pragma once

#include "rocm_perf_device.h"

namespace rpd {

// Null on real hardware.
const rpd_api* find_device();

}  // namespace rpd
