#include "runtime/activity.h"

namespace rpd {

void Activity::announce() {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Activity::wait(uint32_t seen, std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  changed_.wait_for(lock, timeout, [&] { return current() != seen; });
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

Activity& signal_activity() {
  static auto* activity = new Activity;
  return *activity;
}

}  // namespace rpd
