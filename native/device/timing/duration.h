// A first-order duration of a dispatch: the largest of what issue, latency at the achieved concurrency, and each
// level's bandwidth demand. The terms are not added: they overlap on silicon.
#pragma once

#include <array>
#include <cstdint>

#include "timing/instruction_costs.h"
#include "timing/memory_counts.h"

namespace rpd {

// What one CU did during a dispatch.
struct CuWork {
  std::array<uint64_t, kIssueUnits> issue_cycles{};  // [IssueUnit]
  uint64_t waves = 0;
  uint64_t wave_cycles = 0;    // sum over waves of their own clocks
  uint64_t longest_wave = 0;
  uint64_t wait_cycles = 0;

  uint64_t cycles(uint32_t resident_waves) const;
};

// The whole device.
struct WorkDone {
  uint64_t waves = 0;
  uint64_t wave_cycles = 0;
  uint64_t wait_cycles = 0;
  uint64_t busy_cycles = 0;  // of the dispatch
  uint64_t duration_ns = 0;
};

// Cycles that the memory system needs for the traffic of one XCD; `memory` is the device's own total.
uint64_t l2_cycles(const MemoryCounts& xcd);
uint64_t memory_cycles(const MemoryCounts& device);
uint64_t cycles_to_ns(uint64_t cycles);

}  // namespace rpd
