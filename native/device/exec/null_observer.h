// An observer for devices that only compute: nothing is counted or timed.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/device_observer.h"

namespace rpd {

// Every dispatch takes `dispatch_ns`, whatever it does, and produces no counter values.
std::unique_ptr<DeviceObserver> null_observer(uint64_t dispatch_ns);

}  // namespace rpd
