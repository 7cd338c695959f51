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

// Takes the counters of the dispatch that completed `signal`. False if there are none.
bool device_counters(hsa_signal_t signal, std::vector<double>& values);

}  // namespace rpd::tracer
