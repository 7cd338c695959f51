#include "runtime/queues/event_count.h"

namespace rpd {

void EventCount::announce() {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void EventCount::wait(uint32_t seen, std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  changed_.wait_for(lock, timeout, [&] { return current() != seen; });
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

EventCount& signal_changes() {
  static auto* changes = new EventCount;
  return *changes;
}

}  // namespace rpd
