#include "runtime/queues/queue.h"

#include "runtime/device.h"
#include "runtime/hooks/host_threads.h"

namespace rpd {

using namespace std::chrono_literals;

namespace {

// How long an idle queue sleeps between two checks of its ring. Submissions through the HSA interface wake it at once;
// submissions by ROCr itself (without the tools library, all submissions) are found by polling, so the queue polls often while
// it is in use and rarely once it has been idle for long.
std::chrono::microseconds look_interval(std::chrono::steady_clock::duration idle) {
  if (idle < 5ms) return 50us;
  if (idle < 100ms) return 500us;
  return 4ms;
}

}  // namespace

void Queue::start() {
  thread_ = std::thread([self = shared_from_this()] { self->serve(); });
}

bool Queue::stop(std::chrono::milliseconds patience) {
  stopping_.store(true, std::memory_order_release);
  work_.announce();
  signal_changes().announce();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!finished_.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      thread_.detach();
      return false;
    }
    std::this_thread::sleep_for(50us);
  }
  thread_.join();
  return true;
}

bool Queue::wait_until(const std::function<bool()>& condition) {
  bool satisfied = condition();
  while (!satisfied && !stopping()) {
    blocked_.store(true, std::memory_order_release);
    const uint32_t seen = signal_changes().current();
    satisfied = condition();
    if (!satisfied) signal_changes().wait(seen, 1ms);
  }
  blocked_.store(false, std::memory_order_release);
  return satisfied;
}

bool Queue::can_make_progress() const {
  if (blocked_.load(std::memory_order_acquire)) return false;
  const auto& memory = device_.memory();
  return __atomic_load_n(memory.at<uint64_t>(info_.read_pointer_address), __ATOMIC_ACQUIRE) !=
         __atomic_load_n(memory.at<uint64_t>(info_.write_pointer_address), __ATOMIC_ACQUIRE);
}

void Queue::serve() {
  host_threads::mark_as_runtime_thread();
  auto last_work = std::chrono::steady_clock::now();
  while (!stopping()) {
    const uint32_t seen = work_.current();
    const bool worked = serve_packets();
    const auto now = std::chrono::steady_clock::now();
    if (worked) last_work = now;
    else work_.wait(seen, look_interval(now - last_work));
  }
  finished_.store(true, std::memory_order_release);
}

}  // namespace rpd
