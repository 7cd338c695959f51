#include "timing/extrapolation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace rpd {
namespace {

using Count = uint64_t MemoryCounts::*;

// A count and the quantity that it scales with. The quantity is known even for XCDs that were not observed.
struct Proportion {
  Count count;
  uint64_t (*to)(const TouchedLines&, const MemoryCounts&);
};

uint64_t touched(const TouchedLines& lines, const MemoryCounts&) { return lines.reads() + lines.writes(); }
uint64_t read(const TouchedLines& lines, const MemoryCounts&) { return lines.reads(); }
uint64_t written(const TouchedLines& lines, const MemoryCounts&) { return lines.writes(); }
uint64_t distinct(const TouchedLines& lines, const MemoryCounts&) { return lines.distinct_read() + lines.distinct_written(); }
uint64_t distinct_read(const TouchedLines& lines, const MemoryCounts&) { return lines.distinct_read(); }
uint64_t distinct_written(const TouchedLines& lines, const MemoryCounts&) { return lines.distinct_written(); }
uint64_t lanes_of_lds(const TouchedLines&, const MemoryCounts& counts) { return counts.lds_lanes; }
uint64_t scalar_requests(const TouchedLines&, const MemoryCounts& counts) { return counts.scalar_requests; }

constexpr Proportion kProportions[] = {
    {&MemoryCounts::l1_accesses, touched},
    {&MemoryCounts::l1_read_requests, read},
    {&MemoryCounts::l1_write_requests, written},
    {&MemoryCounts::l2_writes, written},
    {&MemoryCounts::l2_misses, distinct},
    {&MemoryCounts::memory_reads128, distinct_read},
    {&MemoryCounts::memory_reads64, distinct_read},
    {&MemoryCounts::remote_reads64, distinct_read},
    {&MemoryCounts::l2_writebacks, distinct_written},
    {&MemoryCounts::memory_writes64, distinct_written},
    {&MemoryCounts::memory_writes32, distinct_written},
    {&MemoryCounts::remote_write_bytes, distinct_written},
    {&MemoryCounts::l2_evictions, distinct},
    {&MemoryCounts::l2_eviction_writebacks, distinct_written},
    {&MemoryCounts::release_bytes, distinct_written},
    {&MemoryCounts::lds_active_cycles, lanes_of_lds},
    {&MemoryCounts::lds_conflict_cycles, lanes_of_lds},
    {&MemoryCounts::lds_address_conflict_cycles, lanes_of_lds},
    {&MemoryCounts::lds_atomic_return_cycles, lanes_of_lds},
    {&MemoryCounts::scalar_misses, scalar_requests},
};

uint64_t times(uint64_t count, uint64_t of, uint64_t per) {
  if (per == 0) return 0;
  return static_cast<uint64_t>(std::llround(static_cast<double>(count) * static_cast<double>(of) / static_cast<double>(per)));
}

// What has been counted since the dispatch turned out to be large.
MemoryCounts counts_since(const XcdWork& xcd) {
  MemoryCounts since = *xcd.memory;
  since.subtract(*xcd.memory_before);
  return since;
}

uint64_t instructions_of(const XcdWork& xcd) {
  uint64_t sum = 0;
  for (const CuWork& cu : *xcd.cus) sum += cu.instructions;
  return sum;
}

// An XCD's total count, estimated from the counts of the XCDs in `observed`. If none of those XCDs executed enough to show that
// the dispatch is large, the count is assumed to be proportional to the number of instructions.
uint64_t in_proportion(const Proportion& proportion, const XcdWork& xcd, const std::vector<XcdWork>& observed) {
  uint64_t counted = 0, per = 0, of_all = 0, instructions = 0;
  bool any_large = false;
  for (const XcdWork& other : observed) {
    of_all += other.memory->*proportion.count;
    instructions += instructions_of(other);
    if (!other.touched_lines) continue;
    any_large = true;
    const MemoryCounts since = counts_since(other);
    counted += since.*proportion.count;
    per += proportion.to(*other.touched_lines, since);
  }
  if (!any_large) return times(of_all, instructions_of(xcd), instructions);
  return xcd.memory_before->*proportion.count + times(counted, proportion.to(*xcd.touched_lines, counts_since(xcd)), per);
}

// Each device is assumed to account for the same share of the remote traffic as it does on the observed XCDs.
void share_among_peers(MemoryCounts& counts, const MemoryCounts& observed) {
  for (Owner device = 0; device < kMaxDevices; ++device) {
    counts.peer_reads64[device] = times(observed.peer_reads64[device], counts.remote_reads64, observed.remote_reads64);
    counts.peer_write_bytes[device] =
        times(observed.peer_write_bytes[device], counts.remote_write_bytes, observed.remote_write_bytes);
  }
}

MemoryCounts extrapolate_counts(const XcdWork& xcd, const std::vector<XcdWork>& observed) {
  MemoryCounts counts = *xcd.memory;
  for (const Proportion& proportion : kProportions) counts.*proportion.count = in_proportion(proportion, xcd, observed);
  MemoryCounts of_observed;
  for (const XcdWork& other : observed) of_observed.add(*other.memory);
  share_among_peers(counts, of_observed);
  counts.l2_reads = counts.l1_read_requests + counts.scalar_misses;
  counts.l2_hits = counts.l2_reads + counts.l2_writes + counts.l2_atomics - counts.l2_misses;
  return counts;
}

// Sums over all observed CUs, from which the cycles of other CUs are estimated.
struct CuTotals {
  uint64_t instructions = 0, longest_in_instructions = 0, groups_in_instructions = 0;
  uint64_t wave_cycles = 0, longest_wave = 0, group_cycles = 0;
  CuUnits::Memory memory;

  explicit CuTotals(const std::vector<XcdWork>& xcds) {
    for (const XcdWork& xcd : xcds)
      for (const CuWork& cu : *xcd.cus) add(cu);
  }
  void add(const CuWork& cu) {
    instructions += cu.instructions;
    longest_in_instructions += cu.longest_in_instructions;
    groups_in_instructions += cu.groups_in_instructions;
    wave_cycles += cu.wave_cycles;
    longest_wave += cu.longest_wave;
    group_cycles += cu.group_cycles;
    const CuUnits::Memory cu_memory = cu.units.memory();
    memory.address += cu_memory.address;
    memory.traffic_bytes += cu_memory.traffic_bytes;
    memory.lds += cu_memory.lds;
  }
};

CuWork extrapolate(CuWork cu, const CuTotals& totals) {
  cu.wave_cycles = times(totals.wave_cycles, cu.instructions, totals.instructions);
  cu.longest_wave = times(totals.longest_wave, cu.longest_in_instructions, totals.longest_in_instructions);
  cu.group_cycles = times(totals.group_cycles, cu.groups_in_instructions, totals.groups_in_instructions);
  const auto of_memory = [&](uint64_t cycles) { return times(cycles, cu.instructions, totals.instructions); };
  cu.units.set({of_memory(totals.memory.address), of_memory(totals.memory.traffic_bytes), of_memory(totals.memory.lds)});
  return cu;
}

// The quantile of Student's t-distribution that bounds the central 95 %.
double student_quantile(size_t degrees_of_freedom) {
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365};
  return kQuantiles[std::min(degrees_of_freedom, std::size(kQuantiles)) - 1];
}

}  // namespace

XcdEstimate extrapolate(const XcdWork& xcd, const std::vector<XcdWork>& observed) {
  assert(!observed.empty());
  XcdEstimate estimate{.cus = {}, .memory = extrapolate_counts(xcd, observed)};
  const CuTotals totals(observed);
  for (const CuWork& cu : *xcd.cus) estimate.cus.push_back(extrapolate(cu, totals));
  return estimate;
}

double jackknife_error(const std::vector<double>& others, size_t all) {
  const auto count = static_cast<double>(others.size());
  if (count < 2) return std::numeric_limits<double>::infinity();
  const double mean = std::accumulate(others.begin(), others.end(), 0.0) / count;
  double squares = 0;
  for (const double other : others) squares += (other - mean) * (other - mean);
  const double not_observed = 1 - count / static_cast<double>(all);
  return student_quantile(others.size() - 1) * std::sqrt(not_observed * (count - 1) / count * squares);
}

}  // namespace rpd
