// How many of the requests that left the L2s during a dispatch the Infinity Cache answered.
#pragma once

#include <vector>

#include "memory/mall.h"
#include "timing/duration.h"

namespace rpd {

// Shares, 0 to 1.
struct MallHits {
  double reads;
  double writes;
};

// Asks `mall`, once for each line of each XCD, and enters the lines.
MallAnswers ask_mall(Mall& mall, const std::vector<XcdWork>& xcds);

// The share of the XCDs' requests that it answered.
MallHits mall_hits(const MallAnswers& answers, const std::vector<XcdWork>& xcds);

}  // namespace rpd
