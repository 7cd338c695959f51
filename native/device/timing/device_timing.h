// The timing model of a device, in the form that the engine takes.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/device_observer.h"

namespace rpd {

// `timed_cu`: which of the CUs that a kernel uses is replayed to time it; counts XCDs in turn.
std::unique_ptr<DeviceObserver> device_timing(uint64_t timed_cu);

}  // namespace rpd
