// The timing model of a device, as the engine gets it.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/device_observer.h"

namespace rpd {

struct TimingOptions {
  uint64_t timed_cu = 0;  // which of the CUs that a kernel uses is replayed for its time; XCDs in turn
  bool flush_l2 = false;  // after each dispatch, as a profiler does that collects counters
};

std::unique_ptr<DeviceObserver> device_timing(const TimingOptions& options);

}  // namespace rpd
