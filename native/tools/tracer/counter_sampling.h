// Decides which dispatches keep their counters. A hundred values for each of a million dispatches would take up a gigabyte and
// reveal little more than a sample. The first 1000 dispatches of each kernel keep their counters, then every 100th does. The
// others have no counters in the database (rather than zeros), so sums must be scaled by the number of dispatches that have
// counters.
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
