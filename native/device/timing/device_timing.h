// The timing model of a device, in the form that the engine expects.
#pragma once

#include <memory>

#include "exec/device_observer.h"
#include "timing/timing_options.h"

namespace rpd {

std::unique_ptr<DeviceObserver> device_timing(const TimingOptions& options);

}  // namespace rpd
