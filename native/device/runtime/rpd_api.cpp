// rpd_get_api: the device's interface for tools in the same process.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <string>

#include "include/rocm_perf_device.h"
#include "isa/target.h"
#include "runtime/device.h"
#include "runtime/hooks/memory_declarations.h"
#include "runtime/options.h"
#include "runtime/reports/check_findings.h"
#include "runtime/reports/dispatch_records.h"
#include "runtime/reports/log.h"
#include "timing/counters.h"
#include "timing/parameters.h"

namespace {

void record_dispatches(int enabled) { rpd::dispatch_records().enable(enabled != 0); }

int has_dispatch(uint64_t completion_signal) { return rpd::dispatch_records().has(completion_signal); }

// Copies the values and sets the rest to NaN. A dispatch that was not observed has no counters, and one whose values are exact
// has no errors.
void copy_known(const std::vector<double>& from, double* to) {
  if (to == nullptr) return;
  std::fill_n(to, rpd::counter_table().size(), std::numeric_limits<double>::quiet_NaN());
  std::copy(from.begin(), from.end(), to);
}

int take_dispatch(uint64_t completion_signal, rpd_dispatch* dispatch, double* values, double* errors) {
  rpd::DispatchRecord record;
  if (!rpd::dispatch_records().take(completion_signal, record)) return 0;
  if (dispatch != nullptr) *dispatch = {record.start, record.end, record.duration_error};
  copy_known(record.counters, values);
  copy_known(record.counter_errors, errors);
  return 1;
}

void declare_memory(uint64_t address, uint64_t size, int writable) {
  if (writable) rpd::writable_memory().add(address, size);
  else rpd::writable_memory().protect(address, size, "loaded code", true);
}

uint64_t aperture_size() {
  const auto list = rpd::devices();
  return list.empty() ? 0 : list.front()->memory().aperture_size();
}

// All devices see the same pages, just as all GPUs that a program uses do.
int map_memory(uint64_t address, uint64_t size) {
  const int file = memfd_create("rocm-perf-exact", MFD_CLOEXEC);
  if (file < 0) return errno;
  int error = ftruncate(file, static_cast<off_t>(size)) == 0 ? 0 : errno;
  for (rpd::Device* device : rpd::devices())
    if (error == 0) error = device->map_memory(address, size, file);
  close(file);
  return error;
}

int unmap_memory(uint64_t address, uint64_t size) {
  int error = 0;
  for (rpd::Device* device : rpd::devices())
    if (error == 0) error = device->unmap_memory(address, size);
  return error;
}

void* host_address(uint64_t address) {
  const auto list = rpd::devices();
  return list.empty() ? nullptr : list.front()->memory().at(address);
}

int set_options(const char* options) {
  try {
    const rpd::EngineOptions parsed = rpd::engine_options(options);
    for (rpd::Device* device : rpd::devices())
      if (!device->set_options(parsed)) return EBUSY;
    return 0;
  } catch (const std::runtime_error& error) {
    rpd::report_error("%s", error.what());
    return EINVAL;
  }
}

void invalidate_caches() {
  for (rpd::Device* device : rpd::devices()) device->invalidate_caches();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const rpd_api* rpd_get_api() {
  static const std::string& device = *new std::string("software " + std::string(rpd::target_of_device().name));
  static const rpd_api api{
      .version = RPD_API_VERSION,
      .device = device.c_str(),
      .timing = "modelled",
      .parameters_hash = rpd::timing_parameters_hash(),
      .counter_count = static_cast<uint32_t>(rpd::counter_table().size()),
      .counters = rpd::counter_table().data(),
      .record_dispatches = record_dispatches,
      .has_dispatch = has_dispatch,
      .take_dispatch = take_dispatch,
      .aperture_size = aperture_size,
      .map_memory = map_memory,
      .unmap_memory = unmap_memory,
      .host_address = host_address,
      .invalidate_caches = invalidate_caches,
      .set_options = set_options,
      .declare_memory = declare_memory,
      .foreign_access = rpd::first_foreign_access,
  };
  return &api;
}
