// Limits the number of packets in an intercept queue's ring.
//
// When a thread rings the doorbell, ROCr hands all packets in the ring to the interceptors. If they wrap around the end of the
// ring, ROCr 7.2 first copies them to a buffer of 256 packets, however many there are; any further packets overwrite whatever
// follows the buffer in the heap. More than 256 packets accumulate if threads keep submitting while one of them still waits for
// room on the device. So a packet must not be reserved if it is 256 or more positions beyond the first packet that has not yet
// been handed over.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/hsa.h"

namespace rpd {

class RingThrottle {
 public:
  explicit RingThrottle(const hsa_queue_t* queue) : queue_(queue) {}
  RingThrottle(const RingThrottle&) = delete;
  RingThrottle& operator=(const RingThrottle&) = delete;

  // Advances the write index by `count`; returns its former value.
  uint64_t reserve(uint64_t count);
  // Waits until the write index may become `end`, or until the wait seems futile: see given_up_at_.
  void await(uint64_t end);

 private:
  static constexpr uint64_t kMaxPackets = 256;

  bool fits(uint64_t end) const;

  const hsa_queue_t* const queue_;
  // A program that reserves more than kMaxPackets before it writes any of them would end up waiting for itself. Its reservation
  // is therefore granted after a while; its packets do harm only if they also wrap around the end of the ring.
  std::atomic<uint64_t> given_up_at_{~uint64_t{0}};  // the read index at which that last happened
};

}  // namespace rpd
