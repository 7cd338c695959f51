// The clock at which a dispatch runs if it is repeated for several seconds, so that the limit on average power applies.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpd {

// The energy that a dispatch uses, and how its duration depends on the clock.
struct PowerUse {
  uint64_t busy_cus = 0;  // with waves
  double core_joules = 0;  // of the CUs' units, at the voltage of the peak clock
  double memory_joules = 0;  // of traffic beyond the L2s, which has its own clocks and voltages
  double core_ns = 0;  // time of the busiest unit of a CU or an L2, at the peak clock
  double memory_ns = 0;  // time of the traffic beyond the L2s; overlaps core_ns
  double other_ns = 0;  // the rest of the duration

  // The duration at `speed` times the peak clock.
  double ns(double speed) const { return other_ns + std::max(core_ns / speed, memory_ns); }
};

double sustained_mhz(const PowerUse& use);

}  // namespace rpd
