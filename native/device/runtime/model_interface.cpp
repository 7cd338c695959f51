#include "runtime/model_interface.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "runtime/device.h"
#include "runtime/reports/log.h"
#include "runtime/reports/memory_fault.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;

Device& device_of(void* device) { return *static_cast<Device*>(device); }

// On process exit, programs still synchronise (HIP's own destructors do), so queues keep running. But a kernel still in flight
// must not run while the libraries that it uses are being destroyed, which happens after this library's destructors run, so
// it gets a moment to finish. A forked child has no queue threads and so nothing to wait for.
const pid_t owner = getpid();

[[gnu::destructor]] void let_kernels_finish() {
  if (getpid() != owner) return;
  const auto deadline = std::chrono::steady_clock::now() + 1s;
  while (std::chrono::steady_clock::now() < deadline && any_device_can_make_progress()) std::this_thread::sleep_for(1ms);
}

void* create() {
  try {
    return new Device;
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
  learn_model_mutex();
  const Owner owner = flags & model::kLocalMemory ? device_of(device).number() : kHost;
  for (Device* each : devices())
    each->memory_allocated(reinterpret_cast<uint64_t>(address), size, owner, each == &device_of(device));
}

void freed_memory(void*, void* address, uint64_t size) {
  log_line("freed 0x%lx: %lu bytes", reinterpret_cast<uint64_t>(address), size);
  for (Device* each : devices()) each->memory_freed(reinterpret_cast<uint64_t>(address), size);
}

// The interface offers these functions for devices that need them; this device polls, and raises events itself.
void set_notify_event(void*, void (*)(void*), void*) {}
void set_wait_event(void*, void (*)(void*, uint64_t, uint64_t), void*) {}

void set_set_event(void* device, model::SetEvent set_event, void* data) {
  device_of(device).wakeups().set_callback(set_event, data);
}

// Called from C code that holds the thunk's mutex: an exception that passed through would leave it locked forever.
void* register_queue(void* device, model::QueueInfo* info) {
  learn_model_mutex();
  try {
    return device_of(device).create_queue(*info);
  } catch (const std::exception& failure) {
    report_error("a queue cannot be created: %s", failure.what());
    std::abort();
  }
}

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
  rpd::avoid_busy_event_threads();
  rpd::avoid_endless_waits();
  rpd::survive_unset_node_count();
  rpd::avoid_late_queue_events();
  rpd::leave_heap_room();
  rpd::survive_unknown_calls();
  rpd::allow_several_gpus();
  return &rpd::kFunctions;
}
