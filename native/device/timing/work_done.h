// What a dispatch did: the work of each CU, of each XCD and of the whole device, and the recorded parts of it.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/device_use.h"
#include "timing/cu_recording.h"
#include "timing/issue_costs.h"
#include "timing/memory_counts.h"
#include "timing/memory_system.h"
#include "timing/touched_lines.h"
#include "timing/unit_cycles.h"

namespace rpd {

// The work of one CU during a dispatch. Cycles are counted by the waves' own clocks, which run as if each wave were alone on
// the device.
struct CuWork {
  uint64_t launched = 0;      // waves launched ...
  uint64_t waves = 0;         // ... and ended
  uint64_t instructions = 0;
  uint64_t wave_cycles = 0;   // sum over waves
  uint64_t longest_wave = 0;
  uint64_t group_cycles = 0;  // sum over workgroups of the cycles of their longest wave
  uint64_t atomics = 0;       // atomic requests to the L2
  uint64_t groups = 0;        // workgroups that ended, ...
  uint64_t working_groups = 0;  // ... and those of them that changed memory
  CuUnits units;
  // The same as longest_wave and group_cycles, but in instructions, which are known even for waves that were not observed.
  uint64_t longest_in_instructions = 0;
  uint64_t groups_in_instructions = 0;
};

struct XcdWork {
  const std::vector<CuWork>* cus;
  const MemoryCounts* memory;
  const std::vector<uint64_t>* lines_read;     // distinct lines that the L2 read from memory
  const std::vector<uint64_t>* lines_written;  // distinct lines that it wrote to memory
  const BlockUpdates* updates;
  // What was counted before the dispatch turned out to be large, and the lines that were touched afterwards; touched_lines is
  // null if the dispatch is not large.
  const MemoryCounts* memory_before = nullptr;
  const TouchedLines* touched_lines = nullptr;
};

// The work of the whole device, with its waves competing for resources.
struct WorkDone {
  uint64_t waves = 0;
  uint64_t busy_cycles = 0;         // from the first wave's start to the last one's end
  uint64_t release_cycles = 0;      // from then until the dispatch's writes are in memory
  uint64_t wave_cycles = 0;         // sum over waves of their time on a CU
  uint64_t wait_cycles = 0;  // part of wave_cycles: for memory, LDS, a barrier, a matrix result or an instruction fetch
  uint64_t issue_wait_cycles = 0;  // part of wave_cycles: held up only by a busy unit
  uint64_t memory_read_cycles = 0;  // sum of the durations of the L2s' reads from memory
  uint64_t duration_ns = 0;  // launch overhead included
  DeviceUse use;  // all shares except kSlots, which the caller sets
};

// The number of distinct lines, summed over the XCDs, and how many of these lines the Infinity Cache held.
struct MallLines {
  uint64_t distinct = 0;
  uint64_t hits = 0;
};
struct MallLookUps {
  MallLines reads, writes;
};

// Consecutive workgroups of a CU, some of which are recorded.
struct RecordedPart {
  CuRecording recording;
  CuWork recorded_work;  // the recorded part of the work ...
  CuWork all_work;  // ... and all of it
};

// A recorded CU: its first workgroups, and the rest.
struct RecordedCu {
  const RecordedPart& first;
  const RecordedPart& rest;
  const IssueCosts& costs;  // of the instructions in the recordings
  const CuWork& all_work;
  uint32_t resident_groups;  // workgroups that fit on the CU at a time
};

}  // namespace rpd
