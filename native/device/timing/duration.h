// The time of a dispatch, from what its CUs did and a replay of one of them.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/cache.h"
#include "memory/mall.h"
#include "timing/cu_observer.h"
#include "timing/issue_costs.h"
#include "timing/memory_counts.h"
#include "timing/unit_cycles.h"
#include "timing/wave_trace.h"

namespace rpd {

// What one CU did during a dispatch. Cycles are on the waves' own clocks: as if each were alone on the device.
struct CuWork {
  uint64_t launched = 0;      // waves ...
  uint64_t waves = 0;         // ... and those that have ended
  uint64_t instructions = 0;
  uint64_t wave_cycles = 0;   // sum over waves
  uint64_t longest_wave = 0;
  CuUnits units;
};

struct XcdWork {
  const std::vector<CuWork>* cus;
  const MemoryCounts* memory;
  const std::vector<uint64_t>* lines_read;     // distinct lines that the L2 read from memory
  const std::vector<uint64_t>* lines_written;  // and that it wrote there
};

// The whole device, with its waves in each other's way.
struct WorkDone {
  uint64_t waves = 0;
  uint64_t busy_cycles = 0;         // from the first wave's start to the last one's end
  uint64_t release_cycles = 0;      // from then until what it has written is in memory
  uint64_t wave_cycles = 0;         // sum over waves of their time on a CU
  uint64_t wait_cycles = 0;         // of it, for memory, LDS, a barrier or a matrix result
  uint64_t issue_wait_cycles = 0;   // of it, ready but for a busy unit
  uint64_t memory_read_cycles = 0;  // sum over the L2s' reads from memory of the time that they take
  uint64_t duration_ns = 0;         // launch overhead included
};

// What is left from dispatch to dispatch and decides how long the next one takes.
struct WarmCaches {
  WarmCaches();
  Mall mall;
  Cache instructions;  // of the CU that is replayed
};

// A CU whose replay someone watches.
struct WatchedCu {
  const CuTrace& trace;
  CuObserver& observer;
};

// The CU that was recorded, or the first of its workgroups.
struct Sample {
  const CuTrace& trace;
  const IssueCosts& costs;   // of the instructions in it
  const CuWork& recorded;    // the work in the recording
  const CuWork& done;        // all work of that CU
  uint32_t resident_groups;  // that fit on it at a time
};

// What is watched has no influence on the result.
WorkDone time_dispatch(const std::vector<XcdWork>& xcds, const Sample& sample, WarmCaches& warm,
                       const WatchedCu* watched = nullptr);

}  // namespace rpd
