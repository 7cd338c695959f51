#include "common/ring_throttle.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rpd {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How long a thread may take to ring the doorbell for its packets before this library rings it instead.
constexpr auto kBeforeRinging = 1ms;
// The call that rings the doorbell returns once all packets have been handed over, however long the device takes. If the read
// index still has not moved this long after that, the queue is waiting for a packet that the current thread has yet to write.
constexpr auto kPatience = 200ms;

}  // namespace

bool RingThrottle::fits(uint64_t end) const {
  const uint64_t read = hsa.core.hsa_queue_load_read_index_scacquire_fn(queue_);
  return end <= read + kMaxPackets || given_up_at_.load(std::memory_order_relaxed) == read;
}

uint64_t RingThrottle::reserve(uint64_t count) {
  for (;;) {
    const uint64_t first = hsa.core.hsa_queue_load_write_index_relaxed_fn(queue_);
    await(first + std::min(count, kMaxPackets));
    if (hsa.core.hsa_queue_cas_write_index_scacq_screl_fn(queue_, first, first + count) == first) return first;
  }
}

void RingThrottle::await(uint64_t end) {
  uint64_t read = ~uint64_t{0};
  auto since = Clock::now();
  for (bool rung = false; !fits(end);) {
    const uint64_t seen = hsa.core.hsa_queue_load_read_index_scacquire_fn(queue_);
    if (seen != read) read = seen, rung = false, since = Clock::now();
    const auto standstill = Clock::now() - since;
    if (!rung && standstill > kBeforeRinging) {
      // This call returns when all packets in the ring have been handed over, by this thread or another.
      const uint64_t write = hsa.core.hsa_queue_load_write_index_relaxed_fn(queue_);
      hsa.core.hsa_signal_store_screlease_fn(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(write - 1));
      rung = true, since = Clock::now();
    } else if (rung && standstill > kPatience) {
      given_up_at_.store(read, std::memory_order_relaxed);
    } else {
      std::this_thread::sleep_for(20us);
    }
  }
}

}  // namespace rpd
