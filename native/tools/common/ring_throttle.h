// How many packets may stand in an intercepting queue's ring.
//
// Whoever rings the doorbell has ROCr hand all packets that are there to the interceptors. Where they lie on both sides
// of the ring's end, ROCr 7.2 first copies them to a buffer of 256 packets, however many they are: more of them write
// over whatever lies behind it in the heap. More gather when threads go on submitting while one of them still waits
// for room on the device. So no packet may be reserved that lies further behind the first packet not yet handed over.
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

  // The write index was at the result and is `count` higher now.
  uint64_t reserve(uint64_t count);
  // Returns when the write index may become `end`.
  void await(uint64_t end);

 private:
  static constexpr uint64_t kMaxPackets = 256;

  bool fits(uint64_t end) const;

  const hsa_queue_t* const queue_;
  // A program that writes no packet before it has reserved more than kMaxPackets waits for itself. It gets them: its
  // packets do harm only where they also lie on both sides of the ring's end.
  std::atomic<uint64_t> given_up_at_{~uint64_t{0}};  // read index
};

}  // namespace rpd
