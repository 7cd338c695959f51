#include "timing/beyond_l2.h"

#include <algorithm>

#include "memory/cache.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr size_t kTurn = 64;  // lines taken from one XCD before moving on to the next

constexpr size_t kAhead = 8;   // lines to fetch before they are needed

// Requests of one kind, and how many were found in the Infinity Cache.
struct Asked {
  uint64_t requests = 0;
  uint64_t distinct = 0;
  uint64_t hits = 0;

  void ask(Mall& mall, const std::vector<uint64_t>& lines, size_t begin) {
    for (size_t i = begin; i < std::min(begin + kTurn, lines.size()); ++i) {
      mall.prefetch(lines[std::min(i + kAhead, lines.size() - 1)]);
      ++distinct;
      hits += mall.touch(lines[i]);
    }
  }
  // `kept` is the share of this dispatch's new lines that fit: a line that the same XCD requests again hits with that share.
  double answered(double kept) const {
    const uint64_t again = requests > distinct ? requests - distinct : 0;
    return static_cast<double>(hits) + kept * static_cast<double>(again);
  }
  uint64_t total() const { return std::max(requests, distinct); }
};

double share(double part, uint64_t whole) { return whole == 0 ? 0 : std::min(1.0, part / static_cast<double>(whole)); }

}  // namespace

MallHits mall_hits(Mall& mall, const std::vector<XcdWork>& xcds) {
  size_t longest = 0;
  Asked reads, writes;
  for (const XcdWork& xcd : xcds) {
    longest = std::max({longest, xcd.lines_read->size(), xcd.lines_written->size()});
    reads.requests += xcd.memory->memory_reads128;
    writes.requests += xcd.memory->l2_writebacks;
  }
  for (size_t begin = 0; begin < longest; begin += kTurn) {
    for (const XcdWork& xcd : xcds) {
      reads.ask(mall, *xcd.lines_read, begin);
      writes.ask(mall, *xcd.lines_written, begin);
    }
  }
  const auto footprint = static_cast<double>(reads.distinct - reads.hits + writes.distinct - writes.hits) * kLineBytes;
  const double kept = footprint <= static_cast<double>(parameter::mall_bytes) ? 1.0 : parameter::mall_bytes / footprint;
  return {.reads = share(reads.answered(kept), reads.total()), .writes = share(writes.answered(kept), writes.total())};
}

}  // namespace rpd
