// Who reserved a packet's place in its queue. ROCr hands packets to the interceptor in whichever thread rings the
// doorbell next, and where streams share a queue that need not be the thread that wrote the packet.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tracer/host_context.h"

namespace rpd::tracer {

class Submitters {
 public:
  explicit Submitters(uint64_t ring_size) : size_(ring_size), places_(new Place[ring_size]) {}

  // By the reserving thread, before it writes the packets.
  void reserved(uint64_t first, uint64_t count) {
    const spool::Origin origin = host_context().origin();
    for (uint64_t index = first; index < first + count; ++index) {
      Place& place = places_[index % size_];
      place.origin = origin;
      place.index_plus_one.store(index + 1, std::memory_order_release);
    }
  }

  // The origin of packet `index`; the calling thread's where its place was come by in another way.
  spool::Origin of(uint64_t index) const {
    const Place& place = places_[index % size_];
    if (place.index_plus_one.load(std::memory_order_acquire) == index + 1) return place.origin;
    return host_context().origin();
  }

 private:
  struct Place {
    std::atomic<uint64_t> index_plus_one{0};
    spool::Origin origin;
  };

  const uint64_t size_;
  const std::unique_ptr<Place[]> places_;
};

}  // namespace rpd::tracer
