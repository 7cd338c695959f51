// Replays one compute unit from a recording to compute when each instruction of each wave would issue.
//
// Waves issue in order. A SIMD has an issue slot every `issue_cycles` cycles: on CDNA, every fourth cycle, because the CU's
// four SIMDs take turns; on gfx1030, where a WGP counts as a CU with four SIMDs, every cycle. In a slot, it issues at most one
// instruction per wave and one per kind of unit. A wave waits for busy units, for its outstanding accesses (at s_waitcnt), for
// its workgroup (at s_barrier), for the result of a matrix instruction that it reads too early, and for instructions that are
// not in the instruction cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/tags.h"
#include "timing/cu_recording.h"
#include "timing/cu_replay_observer.h"
#include "timing/issue_costs.h"
#include "timing/remote_memory.h"
#include "timing/removed_causes.h"
#include "timing_parameters.inc.h"

namespace rpd {

// The conditions under which the CU works. Each bandwidth is the CU's share of one that is divided equally among active CUs:
// for the L2, as many as XCD 0 has, which has the most; for memory, those of the whole device.
struct CuConditions {
  uint32_t resident_groups;  // the most workgroups at a time
  double l2_read_bytes_per_cycle;
  double l2_write_bytes_per_cycle;
  double memory_read_bytes_per_cycle;
  double memory_write_bytes_per_cycle;
  double memory_latency_cycles;  // from load to use, for data from beyond the L2
  double early_write_share;  // share of the writes that go to memory while waves run, because the L2 is full
  double atomic_cycles;  // per atomic request, because others update the same memory
  RemoteMemory remote;
  uint32_t sharers_of_dispatcher;  // active CUs that get their workgroups through the same shader engine
  size_t max_groups = ~size_t{0};  // how many of the recording's workgroups to replay
  const std::vector<bool>* left_out = nullptr;  // which of these not to launch; null: none
};

constexpr uint64_t kInstructionLineBytes = 64;
using InstructionCache = Tags<parameter::instruction_cache_ways>;

struct CuOutcome {
  uint64_t cycles = 0;  // from the first wave's start to the last one's end
  uint64_t instructions = 0;
  uint64_t wave_cycles = 0;  // sum over waves of their time on the CU
  uint64_t group_cycles = 0;  // sum over workgroups of their time on the CU
  uint64_t wait_cycles = 0;  // part of wave_cycles: at s_waitcnt or s_barrier, for a matrix result or a fetch of code
  uint64_t issue_wait_cycles = 0;  // part of wave_cycles: held up only by a busy unit
  uint64_t memory_reads = 0;  // of 128 bytes, beyond the L2
  double memory_read_cycles = 0;  // sum over memory_reads of the time from the L2 to memory and back

  // Adds the outcome of another CU, except that `cycles` becomes the maximum of the two.
  void add(const CuOutcome& other) {
    cycles = std::max(cycles, other.cycles);
    instructions += other.instructions;
    wave_cycles += other.wave_cycles;
    group_cycles += other.group_cycles;
    wait_cycles += other.wait_cycles;
    issue_wait_cycles += other.issue_wait_cycles;
    memory_reads += other.memory_reads;
    memory_read_cycles += other.memory_read_cycles;
  }
};

// The cost of an access if the causes in `removed` are removed.
AccessCost without_causes(const RecordingEntry& entry, const RemovedCauses& removed);

// `instructions` is the instruction cache, kept from dispatch to dispatch. `observer` may be null. `removed` says which causes
// to remove.
CuOutcome replay_cu(const CuRecording& recording, const CuConditions& conditions, const IssueCosts& costs,
                    InstructionCache& instructions, CuReplayObserver* observer = nullptr, const RemovedCauses& removed = {});

}  // namespace rpd
