#include "tracer/software_device.h"

#include <cstdlib>

#include "tracer/recorder.h"

namespace rpd::tracer {

bool times_are_modelled() { return std::getenv("HSA_MODEL_LIB") != nullptr; }

void start_device_counters() {
  const rpd_api* device = find_device();
  if (device == nullptr) return;
  for (uint32_t i = 0; i < device->counter_count; ++i) {
    const rpd_counter_info& info = device->counters[i];
    spool::Counter counter{};
    counter.index = i;
    record(spool::Kind::counter, counter, {info.name, info.block, info.description});
  }
  device->record_dispatches(1);
}

bool dispatch_ended(hsa_signal_t signal) {
  const rpd_api* device = find_device();
  return completed(signal) && (device == nullptr || device->has_dispatch(signal.handle) != 0);
}

bool take_dispatch(hsa_signal_t signal, rpd_dispatch& times, std::vector<double>& counters, std::vector<double>& errors) {
  const rpd_api* device = find_device();
  if (device == nullptr) return false;
  counters.resize(device->counter_count);
  errors.resize(device->counter_count);
  return device->take_dispatch(signal.handle, &times, counters.data(), errors.data()) != 0;
}

}  // namespace rpd::tracer
