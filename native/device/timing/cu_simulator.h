// One compute unit, replayed from a recording: when each instruction of each wave would issue.
//
// In order within a wave; the four SIMDs take turns, each issuing in every fourth cycle at most one instruction a
// wave and one a kind of unit. A wave waits for a busy unit, at s_waitcnt for what it has outstanding, at s_barrier
// for its workgroup, and for the result of a matrix instruction that it reads too early.
#pragma once

#include <cstdint>

#include "timing/cu_observer.h"
#include "timing/wave_trace.h"

namespace rpd {

// What the CU finds around it. Bandwidths are its fair share of what all CUs at work draw on.
struct CuSurroundings {
  uint32_t resident_groups;          // at a time
  double l2_bytes_per_cycle;
  double memory_bytes_per_cycle;
  double memory_latency_cycles;      // load to use, beyond the L2
};

struct CuOutcome {
  uint64_t cycles = 0;               // from the first wave's start to the last one's end
  uint64_t instructions = 0;
  uint64_t wave_cycles = 0;          // sum over waves of their time on the CU
  uint64_t wait_cycles = 0;          // of it, at s_waitcnt, s_barrier, or for a matrix result
  uint64_t issue_wait_cycles = 0;    // of it, ready but for a busy unit
};

// `observer` sees every wave and instruction, if it is there.
CuOutcome simulate_cu(const CuTrace& trace, const CuSurroundings& surroundings, CuObserver* observer = nullptr);

}  // namespace rpd
