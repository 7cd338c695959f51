#include "timing/beyond_l2.h"

#include <algorithm>

#include "memory/cache.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr size_t kTurn = 64;  // lines of one XCD before the next one's

}  // namespace

double mall_hit_share(Mall& mall, const std::vector<XcdWork>& xcds) {
  size_t longest = 0;
  uint64_t requests = 0;
  for (const XcdWork& xcd : xcds) {
    longest = std::max(longest, xcd.beyond_l2->size());
    requests += xcd.memory->memory_requests();
  }
  uint64_t distinct = 0;
  uint64_t hits = 0;
  uint64_t fetched = 0;
  for (size_t begin = 0; begin < longest; begin += kTurn) {
    for (const XcdWork& xcd : xcds) {
      const auto& lines = *xcd.beyond_l2;
      for (size_t i = begin; i < std::min(begin + kTurn, lines.size()); ++i) {
        ++distinct;
        mall.touch(lines[i]) ? ++hits : ++fetched;
      }
    }
  }
  if (requests == 0 || distinct == 0) return 0;
  // A line asked for again by the same XCD is still there as far as what this dispatch touches fits.
  const uint64_t again = requests > distinct ? requests - distinct : 0;
  const double footprint = static_cast<double>(fetched) * kLineBytes;
  const double kept = footprint <= static_cast<double>(parameter::mall_bytes) ? 1.0 : parameter::mall_bytes / footprint;
  return std::min(1.0, (static_cast<double>(hits) + kept * static_cast<double>(again)) / static_cast<double>(std::max(requests, distinct)));
}

}  // namespace rpd
