#include "timing/wave_trace.h"

#include <algorithm>

#include "exec/workgroup.h"

namespace rpd {

void CuTrace::begin(uint32_t resident_groups) {
  // Three times what is resident shows how the CU fills, runs full, and drains.
  most_groups_ = std::max(8u, 3 * resident_groups);
  entries_ = 0;
  groups_.clear();
}

void CuTrace::record(Workgroup& group) {
  if (groups_.size() >= most_groups_ || entries_ >= kMostEntries) return;
  Group& traces = groups_.emplace_back();
  for (Wave& wave : group.waves) {
    traces.push_back(std::make_unique<WaveTrace>(*this));
    wave.trace = traces.back().get();
  }
}

}  // namespace rpd
