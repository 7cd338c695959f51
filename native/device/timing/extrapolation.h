// Estimates the work of unobserved XCDs from the work of the observed ones.
#pragma once

#include <vector>

#include "timing/memory_counts.h"
#include "timing/work_done.h"

namespace rpd {

// Everything that is known or estimated about an XCD's work.
struct XcdEstimate {
  std::vector<CuWork> cus;
  MemoryCounts memory;
};

// Of what was counted for `xcd` after the dispatch turned out to be large, only the counts that need no cache or timing model
// are used. The rest is scaled from `observed`, which must not be empty: cache traffic in proportion to the lines touched, LDS
// cycles to the lanes that access the LDS, and the CUs' cycles to their instructions.
XcdEstimate extrapolate(const XcdWork& xcd, const std::vector<XcdWork>& observed);

// Half the width of the 95 % confidence interval for a total over `all` XCDs. The total was estimated from some of the XCDs;
// `others` are the estimates obtained by leaving out each of those XCDs in turn.
double jackknife_error(const std::vector<double>& others, size_t all);

}  // namespace rpd
