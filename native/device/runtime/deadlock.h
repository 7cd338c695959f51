// Notices that the device and the host wait for each other for ever.
//
// That is so when every dispatch under way waits for memory to change, no queue has anything else to do, and a host
// thread waits for the device. Other host threads could still change that memory; so it must have been
// so for a while in which none of them has used any processor time.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace rpd {

class Device;

class Deadlock {
 public:
  Deadlock(Device& device, std::chrono::seconds patience) : device_(device), patience_(patience) {}

  // Asked again and again by those who wait.
  bool is_there();

 private:
  using Clock = std::chrono::steady_clock;
  // What must not change in the meantime.
  struct State {
    bool stuck = false;
    uint64_t changes = 0;
    uint64_t ticks = 0;
    bool operator==(const State&) const = default;
  };
  State look() const;

  Device& device_;
  const std::chrono::seconds patience_;  // 0: for ever
  std::mutex mutex_;
  State state_;
  Clock::time_point since_ = Clock::now();
  Clock::time_point looked_ = since_;
};

}  // namespace rpd
