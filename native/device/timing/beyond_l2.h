// What became of the requests that left the L2s during a dispatch: how many the Infinity Cache answered.
#pragma once

#include <vector>

#include "memory/mall.h"
#include "timing/duration.h"

namespace rpd {

// Share of the requests, 0 to 1, that `mall` answered; updates it.
double mall_hit_share(Mall& mall, const std::vector<XcdWork>& xcds);

}  // namespace rpd
