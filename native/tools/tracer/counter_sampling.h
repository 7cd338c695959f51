// Which dispatches keep their counters. A hundred values for each of a million dispatches would be gigabytes that say
// little more than a part of them: of each kernel the first 1000 dispatches keep theirs, then every 100th. The others
// have none in the database (not zeros), and who adds up must scale by the number that has.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace rpd::tracer {

class CounterSampling {
 public:
  static constexpr uint64_t kFirst = 1000, kThenEvery = 100;

  // Whether the next dispatch of this kernel, in the order of submission, keeps its counters.
  bool keeps_next(uint64_t kernel_object) {
    std::lock_guard lock(mutex_);
    const uint64_t before = dispatched_[kernel_object]++;
    return before < kFirst || before % kThenEvery == 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> dispatched_;  // by kernel object
};

}  // namespace rpd::tracer
