// What is counted and timed.
#pragma once

#include <cstdint>

namespace rpd {

struct TimingOptions {
  static constexpr uint64_t kNever = ~uint64_t{0};  // no dispatch executes as many instructions

  uint64_t timed_cu = 0;  // which of the CUs that a kernel uses is always replayed to time it, numbered across the XCDs in turn
  bool flush_l2 = false;  // empty the L2s after each dispatch, as a profiler does while it collects counters
  // Once an XCD has executed this many instructions of a dispatch, it is observed further only if it is in the sample.
  uint64_t sampled_beyond = kNever;
};

}  // namespace rpd
