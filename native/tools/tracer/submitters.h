// Records which thread reserved a packet's slot in its queue. ROCr hands packets to the interceptor on whichever thread rings
// the doorbell next; if streams share a queue, that need not be the thread that wrote the packet.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tracer/host_context.h"

namespace rpd::tracer {

class Submitters {
 public:
  explicit Submitters(uint64_t ring_size) : size_(ring_size), slots_(new Slot[ring_size]) {}

  // Called by the reserving thread, before it writes the packets.
  void reserved(uint64_t first, uint64_t count) {
    const spool::Origin origin = host_context().origin();
    for (uint64_t index = first; index < first + count; ++index) {
      Slot& slot = slots_[index % size_];
      slot.origin = origin;
      slot.index_plus_one.store(index + 1, std::memory_order_release);
    }
  }

  // The origin of packet `index`, or the calling thread's origin if the slot was obtained in some other way.
  spool::Origin of(uint64_t index) const {
    const Slot& slot = slots_[index % size_];
    if (slot.index_plus_one.load(std::memory_order_acquire) == index + 1) return slot.origin;
    return host_context().origin();
  }

 private:
  struct Slot {
    std::atomic<uint64_t> index_plus_one{0};
    spool::Origin origin;
  };

  const uint64_t size_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace rpd::tracer
