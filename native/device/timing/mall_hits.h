// The share of the L2s' requests during a dispatch that the Infinity Cache answers.
#pragma once

#include <vector>

#include "memory/mall.h"
#include "timing/work_done.h"

namespace rpd {

// Shares, 0 to 1.
struct MallHits {
  double reads;
  double writes;
};

// For each XCD, looks up in `mall` every line that the XCD's L2 read from or wrote to memory, and enters the line there.
MallLookUps look_up_and_fill_mall(Mall& mall, const std::vector<XcdWork>& xcds);

// The share of the XCDs' requests that the Infinity Cache answered.
MallHits mall_hits(const MallLookUps& look_ups, const std::vector<XcdWork>& xcds);

}  // namespace rpd
