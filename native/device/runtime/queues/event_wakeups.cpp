#include "runtime/queues/event_wakeups.h"

#include <array>
#include <chrono>

#include "runtime/hooks/host_threads.h"

namespace rpd {

using namespace std::chrono_literals;

void EventWakeups::set_callback(model::SetEvent set_event, void* data) {
  std::lock_guard lock(mutex_);
  set_event_ = set_event;
  data_ = data;
}

void EventWakeups::raise(uint32_t event_id) {
  std::lock_guard lock(mutex_);
  if (event_id == 0 || !set_event_ || closed_) return;
  set_event_(data_, event_id);
  ++raises_;
  if (running_) raised_.notify_one();
}

void EventWakeups::open(uint32_t spare_event) {
  std::lock_guard lock(mutex_);
  closed_ = false;
  if (running_ || spare_event == 0 || !set_event_) return;
  spare_event_ = spare_event;
  running_ = true;
  thread_ = std::thread([this] { rebroadcast(); });
}

void EventWakeups::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    if (!running_) return;
    running_ = false;
    raised_.notify_one();
  }
  thread_.join();
}

void EventWakeups::rebroadcast() {
  host_threads::mark_as_runtime_thread();
  // Delays after the most recent raise, long enough for a preempted thread to have gone to sleep.
  constexpr std::array<std::chrono::milliseconds, 3> kDelays{1ms, 10ms, 100ms};
  std::unique_lock lock(mutex_);
  uint64_t handled = 0;
  while (running_) {
    raised_.wait(lock, [&] { return !running_ || raises_ != handled; });
    for (size_t i = 0; running_ && i < kDelays.size(); ++i) {
      if (raises_ != handled) i = 0;
      handled = raises_;
      raised_.wait_for(lock, kDelays[i], [&] { return !running_ || (i > 0 && raises_ != handled); });
      if (running_) set_event_(data_, spare_event_);
    }
  }
}

}  // namespace rpd
