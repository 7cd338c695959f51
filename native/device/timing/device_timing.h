// The timing model of a device, in the form that the engine takes.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/device_observer.h"

namespace rpd {

struct TimingOptions {
  uint64_t timed_cu = 0;  // which of the CUs that a kernel uses is replayed to time it; counts XCDs in turn
  bool flush_l2 = false;  // empty the L2s after each dispatch, as a profiler does while it collects counters
};

std::unique_ptr<DeviceObserver> device_timing(const TimingOptions& options);

}  // namespace rpd
