// The software device, if this process runs on it: its name, how it times, and its counters.
#pragma once

#include <vector>

#include "rocm_perf_device.h"
#include "tracer/hsa.h"

namespace rpd::tracer {

// nullptr on real hardware.
const rpd_api* find_device();

// True if dispatch times come from a software model, whether or not it is ours.
bool times_are_modelled();

// Asks the device to keep counters, and records what each of them is.
void start_device_counters();

// Takes the counters of the dispatch that completed `signal`. False if there are none.
bool device_counters(hsa_signal_t signal, std::vector<double>& values);

}  // namespace rpd::tracer
