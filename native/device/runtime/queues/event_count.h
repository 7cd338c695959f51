// An event count: lets threads sleep until something may have changed.
//
//   const auto seen = changes.current();
//   if (!condition()) changes.wait(seen, timeout);
//
// A change announced after current() always ends the sleep. The timeout covers unannounced changes, such as a host thread
// writing a signal's value through a pointer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rpd {

class EventCount {
 public:
  uint32_t current() const { return count_.load(std::memory_order_seq_cst); }
  void announce();
  void wait(uint32_t seen, std::chrono::nanoseconds timeout);

 private:
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Announced whenever the device has changed a signal's value, or the host has done so in a way that the device can observe.
// Never destroyed: threads outlive static destructors.
EventCount& signal_changes();

}  // namespace rpd
