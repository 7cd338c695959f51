// The time of a dispatch, computed from the work of its CUs and from replays of some of these CUs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/mall.h"
#include "timing/cu_recording.h"
#include "timing/cu_replay.h"
#include "timing/cu_replay_observer.h"
#include "timing/unit_cycles.h"
#include "timing/work_done.h"

namespace rpd {

// Cache contents that persist from dispatch to dispatch and affect how long the next one takes.
struct WarmCaches {
  WarmCaches();
  Mall mall;
  InstructionCache instructions;  // of the CU that is replayed first
};

// A CU whose replay is observed, for its thread trace.
struct TracedCu {
  const CuRecording& recording;
  CuReplayObserver& observer;
};

// The components of a dispatch's time, for use in experiments; in cycles, except for duration_ns.
struct DurationParts {
  struct ReplayedCu {
    RecordedCu recorded;
    CuConditions conditions;
  };
  // Lower bounds on the dispatch's time.
  struct LowerBounds {
    uint64_t atomics = 0, links = 0, memory = 0, l2 = 0;
    CuUnits::Cycles units{};  // the busiest unit of each kind; 0 for scalar units, whose time is only estimated
    std::array<double, CuUnits::kKinds> mean_units{};  // the same, averaged over the CUs that have work
  };
  std::vector<ReplayedCu> replayed;
  std::optional<InstructionCache> instructions;  // before the dispatch
  // A CU has work if one of its workgroups changes memory; if no workgroup of the dispatch does, every CU that has workgroups
  // has work.
  double busiest_cu = 0;  // cycles according to the replays, ...
  double mean_cu = 0;  // ... and their mean over the CUs that have work
  double share_of_cus = 1;  // CUs that have work, as a share of all CUs
  double share_of_groups = 1;  // workgroups that change memory, as a share of all; 1 if none does
  LowerBounds lower_bounds;
  uint64_t release_cycles = 0;
  uint64_t duration_ns = 0;
};

// The first of the `recorded_cus` is replayed, and so is every other one whose work differs from that of each one replayed
// before it. `look_ups` is the result of look_up_and_fill_mall(), and `instructions` is the first one's instruction cache.
// `traced` does not influence the result; its replay runs at the peak clock, whatever the power limit. `parts` also assumes the
// peak clock. Both `traced` and `parts` may be null.
WorkDone time_dispatch(const std::vector<XcdWork>& xcds, const std::vector<RecordedCu>& recorded_cus,
                       const MallLookUps& look_ups, InstructionCache& instructions, const TracedCu* traced = nullptr,
                       DurationParts* parts = nullptr);

}  // namespace rpd
