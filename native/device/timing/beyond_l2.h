// The fate of the requests that left the L2s during a dispatch: how many the Infinity Cache answered.
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

// The share of the requests that `mall` answered. Updates `mall`.
MallHits mall_hits(Mall& mall, const std::vector<XcdWork>& xcds);

}  // namespace rpd
