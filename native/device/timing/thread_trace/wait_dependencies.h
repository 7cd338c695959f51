// Finds the accesses that each s_waitcnt of a wave waited for, based on the target's wait counters (vmcnt and lgkmcnt, plus
// vscnt where stores are counted separately).
#pragma once

#include <cstddef>
#include <vector>

#include "timing/thread_trace/timeline.h"

namespace rpd {

struct WaitDependencies {
  size_t wait;                   // index of the entry
  std::vector<size_t> accesses;  // indices of entries; never empty
};

// A wait instruction yields at most one element per counter: lgkmcnt, vmcnt and vscnt, in this order. If accesses may complete
// in any order, what an instruction waited for is known only if it waited for all of them.
std::vector<WaitDependencies> wait_dependencies(const TimelineWave& wave);

}  // namespace rpd
