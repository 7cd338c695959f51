#include "runtime/model_interface.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <unistd.h>

#include "runtime/device.h"
#include "runtime/fast_open.h"
#include "runtime/log.h"
#include "runtime/memory_fault.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;

Device& device_of(void* device) { return *static_cast<Device*>(device); }

// When the process ends with work in flight, queue threads must not run into destructors of libraries that they
// use. A child of fork has none of those threads, and nothing to stop.
void stop_at_exit() {
  static const pid_t owner = getpid();
  static const bool registered = [] {
    std::atexit([] {
      if (getpid() != owner) return;
      for (Device* device : devices()) device->stop_queues(1s);
    });
    return true;
  }();
  (void)registered;
}

void* create() {
  try {
    auto* device = new Device;
    stop_at_exit();
    return device;
  } catch (const std::exception& failure) {
    report_error("the device cannot be created: %s", failure.what());
    return nullptr;
  }
}

void destroy(void* device) {
  if (device_of(device).stop_queues(2s)) delete &device_of(device);
}

void set_global_aperture(void* device, void* base, uint64_t size) {
  log_line("aperture of %lu bytes at %p", size, base);
  device_of(device).set_aperture(base, size);
  report_memory_faults_in(base, size);
}

void alloced_memory(void* device, void* address, uint64_t size, uint32_t flags) {
  log_line("allocated 0x%lx: %lu bytes, flags 0x%x", reinterpret_cast<uint64_t>(address), size, flags);
  device_of(device).memory_allocated(reinterpret_cast<uint64_t>(address), size, flags);
}

void freed_memory(void* device, void* address, uint64_t size) {
  log_line("freed 0x%lx: %lu bytes", reinterpret_cast<uint64_t>(address), size);
  device_of(device).memory_freed(reinterpret_cast<uint64_t>(address), size);
}

// Offered by the interface for devices that need them; this one polls and raises events itself.
void set_notify_event(void*, void (*)(void*), void*) {}
void set_wait_event(void*, void (*)(void*, uint64_t, uint64_t), void*) {}

void set_set_event(void* device, model::SetEvent set_event, void* data) {
  device_of(device).wakeups().set_callback(set_event, data);
}

void* register_queue(void* device, model::QueueInfo* info) { return device_of(device).create_queue(*info); }

void destroy_queue(void* device, void* queue) { device_of(device).destroy_queue(static_cast<Queue*>(queue)); }

constexpr model::Functions kFunctions{
    .version_major = model::kInterfaceMajor,
    .version_minor = model::kInterfaceMinor,
    .create = create,
    .destroy = destroy,
    .set_global_aperture = set_global_aperture,
    .alloced_memory = alloced_memory,
    .freed_memory = freed_memory,
    .set_notify_event = set_notify_event,
    .set_wait_event = set_wait_event,
    .register_queue = register_queue,
    .set_set_event = set_set_event,
    .destroy_queue = destroy_queue,
};

}  // namespace
}  // namespace rpd

extern "C" [[gnu::visibility("default")]] const rpd::model::Functions* get_hsakmt_model_functions() {
  rpd::avoid_slow_open();
  return &rpd::kFunctions;
}
