// The work of XCDs that were not observed, estimated from that of those that were.
#pragma once

#include <vector>

#include "timing/duration.h"

namespace rpd {

// Everything that is known or estimated about an XCD's work.
struct XcdEstimate {
  std::vector<CuWork> cus;
  MemoryCounts memory;
};

// `xcd`: once the dispatch is known to be large, only those of its counts are used that need no cache or timing model. The rest
// is scaled from `observed`, which must not be empty: cache traffic by the lines that are touched, LDS cycles by the lanes that
// access the LDS, cycles by instructions.
XcdEstimate extrapolate(const XcdWork& xcd, const std::vector<XcdWork>& observed);

// Half of the interval in which a total over `all` XCDs lies with a probability of 95 %. It was estimated from some of them,
// and `others` are its estimates from all of these but one.
double jackknife_error(const std::vector<double>& others, size_t all);

}  // namespace rpd
