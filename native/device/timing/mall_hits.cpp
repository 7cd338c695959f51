#include "timing/mall_hits.h"

#include <algorithm>

#include "memory/cache.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr size_t kTurn = 64;  // lines taken from one XCD before moving on to the next

constexpr size_t kAhead = 8;   // how many lines ahead to prefetch

void ask(MallLines& asked, Mall& mall, const std::vector<uint64_t>& lines, size_t begin) {
  for (size_t i = begin; i < std::min(begin + kTurn, lines.size()); ++i) {
    mall.prefetch(lines[std::min(i + kAhead, lines.size() - 1)]);
    ++asked.distinct;
    asked.hits += mall.touch(lines[i]);
  }
}

// `kept_share` is the share of this dispatch's new lines that fit into the Infinity Cache; the same share of an XCD's repeated
// requests is assumed to hit.
double share_answered(const MallLines& asked, uint64_t requests, double kept_share) {
  const uint64_t again = requests > asked.distinct ? requests - asked.distinct : 0, total = asked.distinct + again;
  if (total == 0) return 0;
  return std::min(1.0,
                  (static_cast<double>(asked.hits) + kept_share * static_cast<double>(again)) / static_cast<double>(total));
}

}  // namespace

MallLookUps look_up_and_fill_mall(Mall& mall, const std::vector<XcdWork>& xcds) {
  size_t longest = 0;
  MallLookUps look_ups;
  for (const XcdWork& xcd : xcds) longest = std::max({longest, xcd.lines_read->size(), xcd.lines_written->size()});
  for (size_t begin = 0; begin < longest; begin += kTurn) {
    for (const XcdWork& xcd : xcds) {
      ask(look_ups.reads, mall, *xcd.lines_read, begin);
      ask(look_ups.writes, mall, *xcd.lines_written, begin);
    }
  }
  return look_ups;
}

MallHits mall_hits(const MallLookUps& look_ups, const std::vector<XcdWork>& xcds) {
  uint64_t reads = 0, writes = 0;
  for (const XcdWork& xcd : xcds) {
    reads += xcd.memory->memory_reads128;
    writes += xcd.memory->l2_writebacks;
  }
  const uint64_t lines = look_ups.reads.distinct - look_ups.reads.hits + look_ups.writes.distinct - look_ups.writes.hits;
  const double footprint = static_cast<double>(lines) * kLineBytes;
  const double kept_share = footprint <= static_cast<double>(parameter::mall_bytes) ? 1.0 : parameter::mall_bytes / footprint;
  return {.reads = share_answered(look_ups.reads, reads, kept_share),
          .writes = share_answered(look_ups.writes, writes, kept_share)};
}

}  // namespace rpd
