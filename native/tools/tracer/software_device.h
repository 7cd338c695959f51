// The times and counters of the software device, if this process runs on it.
#pragma once

#include <vector>

#include "common/hsa.h"
#include "common/software_device_api.h"

namespace rpd::tracer {

// Whether dispatch times come from a software model, either this project's or another one.
bool times_are_modelled();

// Asks the device to keep counters, and records the counters' descriptions.
void start_device_counters();

// Whether the dispatch with this completion signal has ended. Asks the software device itself, since kernels can write to
// signals.
bool dispatch_ended(hsa_signal_t signal);

// Takes the device's record of that dispatch: its times and counters, and the errors of the estimates among them. Returns false
// if there is no record.
bool take_dispatch(hsa_signal_t signal, rpd_dispatch& times, std::vector<double>& counters, std::vector<double>& errors);

}  // namespace rpd::tracer
