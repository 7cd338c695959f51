// Estimates the work of XCDs that were not observed from the work of the observed XCDs.
#pragma once

#include <vector>

#include "timing/duration.h"

namespace rpd {

// Everything that is known or estimated about an XCD's work.
struct XcdEstimate {
  std::vector<CuWork> cus;
  MemoryCounts memory;
};

// `xcd`: of what was counted after the dispatch was known to be large, only counts that need no cache or timing model are used.
// The rest is scaled from `observed`, which must not be empty: cache traffic by the lines that are touched, LDS cycles by the
// lanes that access the LDS, cycles by instructions.
XcdEstimate extrapolate(const XcdWork& xcd, const std::vector<XcdWork>& observed);

// Half the width of the interval that contains a total over `all` XCDs with a probability of 95 %. The total was estimated from
// some of the XCDs; `others` are the estimates obtained by leaving out each of these in turn.
double jackknife_error(const std::vector<double>& others, size_t all);

}  // namespace rpd
