// Holds back the program's threads while memory is being captured: none of them may submit work, free memory or complete a
// signal that the GPU waits for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace rpd::isolate {

class SubmissionBarrier {
 public:
  // Waits while the barrier is closed, unless the calling thread closed it.
  void pass() {
    if (!closed_.load(std::memory_order_acquire)) return;
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return !closed_.load() || keeper_ == std::this_thread::get_id(); });
  }
  void close() {
    const std::lock_guard lock(mutex_);
    keeper_ = std::this_thread::get_id();
    closed_.store(true);
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      closed_.store(false);
    }
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::atomic<bool> closed_{false};
  std::thread::id keeper_;
};

inline SubmissionBarrier& the_submission_barrier() {
  static SubmissionBarrier& barrier = *new SubmissionBarrier;
  return barrier;
}

}  // namespace rpd::isolate
