// What each cause costs a dispatch, by experiment: its recording is timed again without the cause, alone and together with
// others. Nothing is executed again.
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

struct CauseStack {
  uint64_t duration_ns = 0;
  std::array<uint64_t, kCauses> without_ns{};  // [cause]: without this one alone ...
  std::array<uint64_t, kCauses> only_ns{};     // ... and with this one alone, without all others
  uint64_t without_all_ns = 0;
  // The causes that matter, and the time without every set of them: bit i of the index stands for the i-th cause.
  std::vector<Cause> chosen;
  std::vector<uint64_t> subset_ns;
  struct OfInstruction {
    const Op* op;
    uint64_t without_ns;  // if its accesses took no time
  };
  std::vector<OfInstruction> instructions;  // that access memory, those executed most
  struct OfLine {
    std::string source;   // "file:line"
    uint64_t without_ns;  // if its instructions took no time
    // The time without a cause in these instructions alone, for those of `chosen` that concern them; only for the first lines.
    std::vector<std::pair<Cause, uint64_t>> without_cause_ns;
  };
  std::vector<OfLine> lines;  // with most to gain first; empty if lines are not known
};

// `waves_of_workgroups`: the number of workgroups, divided by the number resident on the device at once.
// `line_of` may be null.
CauseStack experiment_with_causes(const DurationParts& parts, double waves_of_workgroups, LineOf line_of);

}  // namespace rpd
