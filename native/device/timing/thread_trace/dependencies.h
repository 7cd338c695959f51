// Which accesses each s_waitcnt of a wave waited for, by gfx9's counting rules.
#pragma once

#include <cstddef>
#include <vector>

#include "timing/thread_trace/timeline.h"

namespace rpd {

struct WaitDependencies {
  size_t wait;                   // index of the entry
  std::vector<size_t> accesses;  // likewise; never empty
};

// vmcnt and lgkmcnt of one instruction give an element each, lgkmcnt first. Where accesses may complete in any order,
// only a wait for all of them says which it was for.
std::vector<WaitDependencies> wait_dependencies(const TimelineWave& wave);

}  // namespace rpd
