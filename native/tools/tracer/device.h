// How the software device times, if this process runs on it, and its counters.
#pragma once

#include <vector>

#include "common/device.h"
#include "common/hsa.h"

namespace rpd::tracer {

// True if dispatch times come from a software model, whether or not it is ours.
bool times_are_modelled();

// Asks the device to keep counters, and records what each of them is.
void start_device_counters();

// Whether the dispatch with this completion signal has ended. The software device says so itself: kernels can write signals.
bool dispatch_ended(hsa_signal_t signal);

// Takes the device's record of that dispatch: its times and counters. False if there is none.
bool take_dispatch(hsa_signal_t signal, rpd_dispatch& times, std::vector<double>& counters);

}  // namespace rpd::tracer
