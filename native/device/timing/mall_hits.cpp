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

MallAnswers ask_mall(Mall& mall, const std::vector<XcdWork>& xcds) {
  size_t longest = 0;
  MallAnswers answers;
  for (const XcdWork& xcd : xcds) longest = std::max({longest, xcd.lines_read->size(), xcd.lines_written->size()});
  for (size_t begin = 0; begin < longest; begin += kTurn) {
    for (const XcdWork& xcd : xcds) {
      ask(answers.reads, mall, *xcd.lines_read, begin);
      ask(answers.writes, mall, *xcd.lines_written, begin);
    }
  }
  return answers;
}

MallHits mall_hits(const MallAnswers& answers, const std::vector<XcdWork>& xcds) {
  uint64_t reads = 0, writes = 0;
  for (const XcdWork& xcd : xcds) {
    reads += xcd.memory->memory_reads128;
    writes += xcd.memory->l2_writebacks;
  }
  const uint64_t lines = answers.reads.distinct - answers.reads.hits + answers.writes.distinct - answers.writes.hits;
  const double footprint = static_cast<double>(lines) * kLineBytes;
  const double kept_share = footprint <= static_cast<double>(parameter::mall_bytes) ? 1.0 : parameter::mall_bytes / footprint;
  return {.reads = share_answered(answers.reads, reads, kept_share),
          .writes = share_answered(answers.writes, writes, kept_share)};
}

}  // namespace rpd
