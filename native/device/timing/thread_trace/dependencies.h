// Finds the accesses that each s_waitcnt of a wave waited for, by the target's wait counters (vmcnt, lgkmcnt; vscnt where
// stores are counted separately).
#pragma once

#include <cstddef>
#include <vector>

#include "timing/thread_trace/timeline.h"

namespace rpd {

struct WaitDependencies {
  size_t wait;                   // index of the entry
  std::vector<size_t> accesses;  // indices of entries; never empty
};

// vmcnt and lgkmcnt of one instruction give one element each, lgkmcnt first. For accesses that may complete in any order, only
// a wait for all of them shows which ones it waited for.
std::vector<WaitDependencies> wait_dependencies(const TimelineWave& wave);

}  // namespace rpd
