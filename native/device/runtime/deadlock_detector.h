// Detects when the devices and the host would wait for each other forever.
//
// That is the case when every dispatch in flight waits for memory to change, no queue has anything else to do, no signal
// handler runs, and a host thread waits for a device. Other host threads could still change that memory, so the state must
// persist for a while during which none of them uses any processor time.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace rpd {

class EngineScheduler;

class DeadlockDetector {
 public:
  DeadlockDetector(const EngineScheduler& scheduler, std::chrono::seconds patience)
      : scheduler_(scheduler), patience_(patience) {}

  // Whether there is a deadlock; always false if patience is unlimited. Waiting threads call this repeatedly.
  bool detect();

 private:
  using Clock = std::chrono::steady_clock;
  // The state that must not change between two checks.
  struct State {
    bool stuck = false;
    uint64_t changes = 0;
    uint64_t ticks = 0;
    bool operator==(const State&) const = default;
  };
  State current_state() const;

  const EngineScheduler& scheduler_;
  const std::chrono::seconds patience_;  // 0: unlimited
  std::mutex mutex_;
  State state_;
  Clock::time_point since_ = Clock::now();
  Clock::time_point looked_ = since_;
};

}  // namespace rpd
