// What tools ask of the device: memory at addresses that they choose rather than ROCr (as replays require), empty caches, other
// options.
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "runtime/device.h"

namespace rpd {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

int Device::map_memory(uint64_t address, uint64_t size, int file) {
  const uint64_t limit = memory_.aperture_size();
  if (size == 0 || address % kPage || size % kPage || address >= limit || size > limit - address) return EINVAL;
  if (allocations_.overlaps(address, size)) return EEXIST;
  memory_.extend_device_range(address, size);  // must precede memory_.at(address)
  // The thunk has reserved the aperture, without access rights, so nothing else in the process can be mapped there.
  if (mmap(memory_.at(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return errno;
  allocations_.add(address, size, number());
  return 0;
}

int Device::unmap_memory(uint64_t address, uint64_t size) {
  if (mmap(memory_.at(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    return errno;
  memory_freed(address, size);
  return 0;
}

void Device::with_engine(const std::function<void()>& task) {
  EngineScheduler::Entry entry;
  dispatches_in_flight().scheduler.queue(entry, 0);
  while (!dispatches_in_flight().scheduler.has_engine(entry)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  task();
  dispatches_in_flight().scheduler.leave(entry);
}

void Device::invalidate_caches() {
  with_engine([this] { engine_->invalidate_caches(); });
}

bool Device::set_options(const EngineOptions& options) {
  bool idle = false;
  with_engine([&] {
    idle = dispatches_in_flight().list.empty();
    if (idle) engine_ = new_engine(options);
  });
  return idle;
}

}  // namespace rpd
