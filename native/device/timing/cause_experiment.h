// Determines by experiment what each cause costs a dispatch: the dispatch's recording is timed again with the cause removed,
// alone and together with others. Nothing is executed again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.h"
#include "timing/duration.h"
#include "timing/removed_causes.h"

namespace rpd {

// The times of a dispatch with causes removed.
struct CauseTimes {
  uint64_t duration_ns = 0;
  std::array<uint64_t, kCauses> without_ns{};  // [cause]: with only this cause removed ...
  std::array<uint64_t, kCauses> only_ns{};     // ... and with all causes except this one removed
  uint64_t without_all_ns = 0;
  // The causes that matter, and the time with each subset of them removed. Bit i of an index into subset_ns stands for
  // chosen[i].
  std::vector<Cause> chosen;
  std::vector<uint64_t> subset_ns;
  struct InstructionTime {
    const Op* op;
    uint64_t without_ns;  // if its accesses took no time
  };
  std::vector<InstructionTime> instructions;  // the most executed ones that access memory
  struct LineTime {
    std::string source;   // "file:line"
    uint64_t without_ns;  // if its instructions took no time
    // For each cause in `chosen` that can apply to these instructions: the time with the cause removed from these instructions
    // only. Filled in only for the first few lines.
    std::vector<std::pair<Cause, uint64_t>> without_cause_ns;
  };
  std::vector<LineTime> lines;  // those with most to gain come first; empty if source lines are not known
};

// `times_device_is_filled`: the number of workgroups, divided by the number resident on the device at once.
// `line_of` may be null.
CauseTimes experiment_with_causes(const DurationParts& parts, double times_device_is_filled, LineOf line_of);

}  // namespace rpd
