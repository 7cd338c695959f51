#include "timing/duration.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "timing/cu_replay.h"
#include "timing/mall_hits.h"
#include "timing/power.h"
#include "timing/remote_memory.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

// CUs whose work differs by no more than this share are assumed to take the same time.
constexpr double kMaxDifference = 0.02;
// A CU's first workgroups and the rest are assumed to be alike if their waves' work differs by no more than this share.
constexpr double kMaxDifferencePerWave = 0.05;

double per_cycle(double gbps) { return gbps * 1000.0 / parameter::clock_mhz; }

// The combined bandwidth of the Infinity Cache, which delivers `gbps`, and of the HBM behind it. `hits` is the fraction of
// requests that the cache answers.
double memory_bytes_per_cycle(double gbps, double hits) {
  const double hbm = per_cycle(parameter::hbm_gbps * parameter::hbm_efficiency);
  return hits >= 1 ? per_cycle(gbps) : std::min(per_cycle(gbps), hbm / (1 - hits));
}
double memory_latency_cycles(double hits) {
  return hits * parameter::mall_latency_cycles + (1 - hits) * parameter::hbm_latency_cycles;
}

uint64_t active_cus(const std::vector<CuWork>& cus) {
  return static_cast<uint64_t>(std::count_if(cus.begin(), cus.end(), [](const CuWork& cu) { return cu.waves > 0; }));
}

// Counts a dispatch's workgroups, how many of them have work to do, and the CUs that have work.
class UsefulWork {
 public:
  explicit UsefulWork(const std::vector<XcdWork>& xcds) {
    for (const XcdWork& xcd : xcds) {
      for (const CuWork& cu : *xcd.cus) groups_ += cu.groups, working_groups_ += cu.working_groups;
    }
    for (const XcdWork& xcd : xcds) cus_ += std::ranges::count_if(*xcd.cus, [this](const CuWork& cu) { return is_on(cu); });
  }

  // Whether the CU has work. A kernel in which no workgroup changes memory is not necessarily idle: all of its workgroups then
  // count as having work.
  bool is_on(const CuWork& cu) const { return working_groups_ > 0 ? cu.working_groups > 0 : cu.waves > 0; }
  uint64_t cus() const { return cus_; }
  double share_of_groups() const {
    return working_groups_ > 0 ? static_cast<double>(working_groups_) / static_cast<double>(groups_) : 1;
  }

 private:
  uint64_t groups_ = 0, working_groups_ = 0, cus_ = 0;
};

uint64_t early_write_bytes(const MemoryCounts& device) { return device.memory_write_bytes() - device.release_bytes; }

double ratio(uint64_t value, uint64_t other) {
  return static_cast<double>(value) / static_cast<double>(std::max<uint64_t>(1, other));
}

// The rates, in GB/s, at which the Infinity Cache serves a given mix of reads and writes.
struct FabricRates {
  double reads = parameter::mall_read_gbps;
  double writes = parameter::mall_write_gbps;
};

// Alternating reads and writes are slower than reads alone or writes alone.
FabricRates fabric_rates(uint64_t reads, uint64_t writes) {
  const auto separately =
      static_cast<double>(reads) / parameter::mall_read_gbps + static_cast<double>(writes) / parameter::mall_write_gbps;
  if (separately == 0) return {};
  const uint64_t paired = std::min(reads, writes);
  const double together = 2.0 * static_cast<double>(paired) / parameter::mall_mixed_gbps +
                          static_cast<double>(reads - paired) / parameter::mall_read_gbps +
                          static_cast<double>(writes - paired) / parameter::mall_write_gbps;
  return {.reads = parameter::mall_read_gbps * separately / together,
          .writes = parameter::mall_write_gbps * separately / together};
}

MemoryCounts counts_of(const std::vector<XcdWork>& xcds) {
  MemoryCounts device;
  for (const XcdWork& xcd : xcds) device.add(*xcd.memory);
  return device;
}

uint64_t total_at(const std::vector<XcdWork>& xcds, uint64_t block) {
  uint64_t total = 0;
  for (const XcdWork& xcd : xcds) {
    if (const auto entry = xcd.updates->find(block); entry != xcd.updates->end()) total += entry->second;
  }
  return total;
}

// How long atomics occupy the block that they update most, summed over all XCDs.
uint64_t contended_cycles(const std::vector<XcdWork>& xcds) {
  uint64_t largest = 0;
  for (const XcdWork& xcd : xcds) {
    for (const auto& [block, cycles] : *xcd.updates) {
      // At least one XCD accounts for 1 / (the number of XCDs) or more of a block's total, so a block whose total exceeds
      // `largest` passes this test on that XCD.
      if (cycles * xcds.size() > largest) largest = std::max(largest, total_at(xcds, block));
    }
  }
  return largest;
}

CuConditions conditions_of(const std::vector<XcdWork>& xcds, const RecordedCu& recorded, const MallHits& hits,
                           uint64_t contended) {
  uint64_t active = 0;
  for (const XcdWork& xcd : xcds) active += active_cus(*xcd.cus);
  const auto fair_share = [](double total, uint64_t sharers) {
    return std::min<double>(parameter::l1_bytes_per_cycle, total / static_cast<double>(std::max<uint64_t>(1, sharers)));
  };
  const uint64_t neighbours = active_cus(*xcds[0].cus);  // no XCD has more, since XCD 0 gets the first workgroup
  const MemoryCounts device = counts_of(xcds);
  const FabricRates fabric = fabric_rates(device.memory_read_bytes(), early_write_bytes(device));
  return {.resident_groups = recorded.resident_groups,
          .l2_read_bytes_per_cycle = fair_share(parameter::l2_read_bytes_per_cycle, neighbours),
          .l2_write_bytes_per_cycle = fair_share(parameter::l2_write_bytes_per_cycle, neighbours),
          .memory_read_bytes_per_cycle = fair_share(memory_bytes_per_cycle(fabric.reads, hits.reads), active),
          .memory_write_bytes_per_cycle = fair_share(memory_bytes_per_cycle(fabric.writes, hits.writes), active),
          .memory_latency_cycles = memory_latency_cycles(hits.reads),
          .early_write_share = device.early_write_share(),
          .atomic_cycles = ratio(contended, recorded.all_work.atomics),
          .remote = {.bytes_per_cycle = fair_share(remote_bytes_per_cycle(device), active),
                     .latency_cycles = mean_remote_latency_cycles(device)},
          .sharers_of_dispatcher = static_cast<uint32_t>(
              std::max<uint64_t>(1, (neighbours + parameter::shader_engines_per_xcd - 1) / parameter::shader_engines_per_xcd))};
}

double excess(uint64_t value, double other) { return std::max(0.0, static_cast<double>(value) - other); }

// How many times the whole work of `other` is contained in `work`: at least 1, at most `longer`. Traffic between L1 and L2 is
// left out, since it depends on cache hits.
double whole_repeats(const CuWork& work, const CuWork& other, double longer) {
  double times = std::min(longer, ratio(work.instructions, other.instructions));
  const CuUnits::Cycles units = work.units.cycles(), other_units = other.units.cycles();
  for (size_t i = 0; i < other_units.size(); ++i) {
    if (other_units[i] && i != CuUnits::kTraffic) times = std::min(times, ratio(units[i], other_units[i]));
  }
  return std::max(1.0, times);
}

// The unit cycles that `work` needs beyond the unit cycles of `other` multiplied by `times`. They are added up because the
// units may be busy one after another while there is nothing else to do.
double extra_unit_cycles(const CuWork& work, const CuWork& other, double times) {
  const CuUnits::Cycles units = work.units.cycles(), other_units = other.units.cycles();
  std::array<double, CuUnits::kKinds> more;
  for (size_t i = 0; i < more.size(); ++i) more[i] = excess(units[i], times * static_cast<double>(other_units[i]));
  // The exception is traffic between L1 and L2, which overlaps with the look-ups that cause it.
  const double vector_memory = std::max(more[CuUnits::kAddress], more[CuUnits::kTraffic]);
  return more[CuUnits::kVector] + more[CuUnits::kMatrix] + more[CuUnits::kScalar] + more[CuUnits::kLds] + vector_memory;
}

// A replayed CU: its cycles, the average number of waves and of workgroups that ran at a time, the share of the last wave's
// time during which that wave runs alone (an assumption: an R-th of that time is hidden if R workgroups are resident), and
// whether all of its workgroups were resident at once.
struct ReplayedCuTime {
  const CuWork* work;
  double cycles;
  double concurrency;
  double group_concurrency;
  double alone_at_the_end;
  bool side_by_side;
};

// The cycles that `work` takes, estimated from those of `other`. The part of `work` that is a multiple of `other` takes that
// many times as long; what its waves and units need beyond that is added. The waves' times come from clocks that run as if each
// wave were alone on the device. If all workgroups are resident at once, the waves add at least the additional time of the
// longest wave. Otherwise, waves replace one another, with as many running at a time as in the replay; the longest wave may
// start last and would then finish alone. `longer` is an upper bound on the multiple.
double estimated_cycles(const ReplayedCuTime& replayed, const CuWork& work, const CuWork& other, double longer,
                        bool side_by_side) {
  const double times = whole_repeats(work, other, longer);
  const double of_longest = excess(work.longest_wave, times * static_cast<double>(other.longest_wave));
  const double of_waves = excess(work.wave_cycles, times * static_cast<double>(other.wave_cycles)) / replayed.concurrency;
  // A workgroup occupies its slot until its longest wave ends, however few of its waves are left.
  const double alike = (1 + kMaxDifferencePerWave) * times;
  const double of_groups =
      excess(work.group_cycles, alike * static_cast<double>(other.group_cycles)) / replayed.group_concurrency;
  const double of_all = std::max(of_waves, of_groups);
  const double waiting = side_by_side ? std::max(of_longest, of_all) : of_all + replayed.alone_at_the_end * of_longest;
  return replayed.cycles * times + waiting + extra_unit_cycles(work, other, times);
}

// A recorded CU whose total work is `all`, of which the part `recorded` was replayed.
ReplayedCuTime time_of_replayed(const CuWork& all, const CuWork& recorded, const CuRecording& recording,
                                uint32_t resident_groups, const CuOutcome& outcome) {
  const double longer = std::max(ratio(all.instructions, outcome.instructions), ratio(all.wave_cycles, recorded.wave_cycles));
  ReplayedCuTime replayed{.work = &all,
                          .cycles = static_cast<double>(outcome.cycles),
                          .concurrency = std::max(1.0, ratio(outcome.wave_cycles, outcome.cycles)),
                          .group_concurrency = std::max(1.0, ratio(outcome.group_cycles, outcome.cycles)),
                          .alone_at_the_end = 1 - 1.0 / std::max(1u, resident_groups),
                          .side_by_side = recording.groups().size() <= resident_groups};
  replayed.cycles = estimated_cycles(replayed, all, recorded, longer, false);
  return replayed;
}

double cycles_of_cu(const CuWork& cu, const ReplayedCuTime& replayed) {
  const CuWork& other = *replayed.work;
  const bool side_by_side = replayed.side_by_side;
  const double longer = side_by_side ? ratio(cu.longest_wave, other.longest_wave) : ratio(cu.wave_cycles, other.wave_cycles);
  return estimated_cycles(replayed, cu, other, longer, side_by_side);
}

// The difference between two numbers as a fraction of the larger one.
double difference(uint64_t value, uint64_t other) {
  const auto [less, more] = std::minmax(value, other);
  return more ? static_cast<double>(more - less) / static_cast<double>(more) : 0;
}

// The largest such difference between two CUs' average work per wave. The waves' times are excluded because they also depend on
// the caches.
double difference_per_wave(const CuWork& work, const CuWork& other) {
  const auto distance = [&](uint64_t value, uint64_t other_value) {
    return difference(value * other.waves, other_value * work.waves);
  };
  double largest = distance(work.instructions, other.instructions);
  const CuUnits::Cycles units = work.units.cycles(), other_units = other.units.cycles();
  for (size_t i = 0; i < units.size(); ++i) {
    if (i != CuUnits::kTraffic) largest = std::max(largest, distance(units[i], other_units[i]));
  }
  return largest;
}

// The largest such difference between the work of two CUs. Traffic between L1 and L2 depends on cache hits and is left out.
double difference(const CuWork& work, const CuWork& other) {
  double largest = std::max({difference(work.instructions, other.instructions), difference(work.wave_cycles, other.wave_cycles),
                             difference(work.longest_wave, other.longest_wave)});
  const CuUnits::Cycles units = work.units.cycles(), other_units = other.units.cycles();
  for (size_t i = 0; i < units.size(); ++i) {
    if (i != CuUnits::kTraffic) largest = std::max(largest, difference(units[i], other_units[i]));
  }
  return largest;
}

// The share of the replayed CU's time that `cu` takes if it has less to do than that CU. This is needed because cycles_of_cu()
// never returns less than the replayed time.
double share_of(const CuWork& cu, const ReplayedCuTime& replayed) {
  const CuWork& other = *replayed.work;
  const double share =
      replayed.side_by_side ? ratio(cu.longest_wave, other.longest_wave) : ratio(cu.wave_cycles, other.wave_cycles);
  return std::min(1.0, share);
}

// The cycles of the CU that takes longest, and the mean over the CUs that have work.
struct CuCycles {
  double longest = 0, mean = 0;
};

// Each CU's cycles are estimated from the replayed CU whose work is most similar.
CuCycles cycles_of_cus(const std::vector<XcdWork>& xcds, const UsefulWork& useful,
                       const std::vector<ReplayedCuTime>& replayed) {
  CuCycles cycles;
  double sum = 0;
  for (const ReplayedCuTime& cu : replayed) cycles.longest = std::max(cycles.longest, cu.cycles);
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) {
      if (cu.waves == 0) continue;
      const auto distance = [&](const ReplayedCuTime& other) { return replayed.size() > 1 ? difference(cu, *other.work) : 0; };
      const auto nearest = std::ranges::min_element(replayed, {}, distance);
      const double cu_cycles = cycles_of_cu(cu, *nearest);
      cycles.longest = std::max(cycles.longest, cu_cycles);
      if (useful.is_on(cu)) sum += cu_cycles * share_of(cu, *nearest);
    }
  }
  cycles.mean = useful.cus() ? std::min(cycles.longest, sum / static_cast<double>(useful.cus())) : cycles.longest;
  return cycles;
}

// Replays a recorded CU in its conditions, and adds the outcomes of all replays to `outcome`. If the rest of the CU's
// workgroups do something different from the first ones, the first ones say nothing about the rest, which is then replayed
// separately.
ReplayedCuTime replayed_cu(const RecordedCu& recorded, const CuConditions& conditions, InstructionCache& instructions,
                           CuOutcome& outcome) {
  const RecordedPart &first = recorded.first, &rest = recorded.rest;
  const CuOutcome of_first = replay_cu(first.recording, conditions, recorded.costs, instructions);
  outcome.add(of_first);
  const uint32_t resident = recorded.resident_groups;
  if (rest.recorded_work.waves == 0 || difference_per_wave(first.all_work, rest.all_work) <= kMaxDifferencePerWave)
    return time_of_replayed(recorded.all_work, first.recorded_work, first.recording, resident, of_first);
  const CuOutcome of_rest = replay_cu(rest.recording, conditions, recorded.costs, instructions);
  outcome.add(of_rest);
  const double cycles = time_of_replayed(first.all_work, first.recorded_work, first.recording, resident, of_first).cycles +
                        time_of_replayed(rest.all_work, rest.recorded_work, rest.recording, resident, of_rest).cycles;
  CuOutcome of_both = of_first;
  of_both.add(of_rest);
  of_both.cycles = of_first.cycles + of_rest.cycles;
  ReplayedCuTime both = time_of_replayed(recorded.all_work, recorded.all_work, first.recording, resident, of_both);
  both.cycles = cycles;
  return both;
}

uint64_t cycles_for(uint64_t bytes, double bytes_per_cycle) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) / bytes_per_cycle));
}

// The minimum number of cycles that all traffic beyond the L2s takes. Reads and writes share the fabric and the HBM's channels.
uint64_t memory_cycles(const MemoryCounts& device, const MallHits& hits) {
  const uint64_t reads = device.memory_read_bytes(), writes = early_write_bytes(device);
  const double to_hbm = static_cast<double>(reads) * (1 - hits.reads) + static_cast<double>(writes) * (1 - hits.writes);
  const double hbm = per_cycle(parameter::hbm_gbps * parameter::hbm_efficiency);
  const FabricRates rates = fabric_rates(reads, writes);
  const uint64_t fabric = cycles_for(reads, per_cycle(rates.reads)) + cycles_for(writes, per_cycle(rates.writes));
  return std::max(fabric, static_cast<uint64_t>(std::ceil(to_hbm / hbm)));
}

uint64_t l2_cycles(const std::vector<XcdWork>& xcds) {
  uint64_t largest = 0;
  for (const XcdWork& xcd : xcds) {
    largest = std::max({largest, xcd.memory->l2_read_bytes() / parameter::l2_read_bytes_per_cycle,
                        xcd.memory->l2_write_bytes() / parameter::l2_write_bytes_per_cycle});
  }
  return largest;
}

// The busy time of the busiest unit of each kind.
CuUnits::Cycles unit_cycles(const std::vector<XcdWork>& xcds) {
  CuUnits::Cycles busiest{};
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) {
      if (cu.waves == 0) continue;
      const CuUnits::Cycles cycles = cu.units.cycles();
      for (size_t i = 0; i < busiest.size(); ++i) busiest[i] = std::max(busiest[i], cycles[i]);
    }
  }
  busiest[CuUnits::kScalar] = 0;
  return busiest;
}

std::array<double, CuUnits::kKinds> mean_unit_cycles(const std::vector<XcdWork>& xcds, const UsefulWork& useful) {
  std::array<double, CuUnits::kKinds> mean{};
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) {
      if (!useful.is_on(cu)) continue;
      const CuUnits::Cycles cycles = cu.units.cycles();
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(cycles[i]);
    }
  }
  for (double& kind : mean) kind /= static_cast<double>(std::max<uint64_t>(1, useful.cus()));
  return mean;
}

// The busy time of the busiest unit of any CU, or of the busiest L2 if that is longer.
uint64_t core_cycles(const std::vector<XcdWork>& xcds) {
  return std::max(l2_cycles(xcds), std::ranges::max(unit_cycles(xcds)));
}

DurationParts::LowerBounds lower_bounds_of(const std::vector<XcdWork>& xcds, const UsefulWork& useful, const MallHits& hits,
                                           uint64_t contended) {
  const MemoryCounts device = counts_of(xcds);
  return {.atomics = contended,
          .links = static_cast<uint64_t>(std::ceil(link_cycles(device))),
          .memory = memory_cycles(device, hits),
          .l2 = l2_cycles(xcds),
          .units = unit_cycles(xcds),
          .mean_units = mean_unit_cycles(xcds, useful)};
}

// A dispatch takes at least as long as its traffic at full bandwidth, its atomics on any one block, and its busiest unit. The
// waves' own clocks set no such limit, since they reflect only part of the hits in the Infinity Cache.
uint64_t lower_bound_cycles(const DurationParts::LowerBounds& lower_bounds) {
  return std::max(
      {lower_bounds.atomics, lower_bounds.links, lower_bounds.memory, lower_bounds.l2, std::ranges::max(lower_bounds.units)});
}

// The total cycles of all reads beyond the L2s: a read of a whole line takes the average time of the replays; any other read
// takes only the latency.
double memory_read_cycles(const std::vector<XcdWork>& xcds, const CuOutcome& outcome, const MallHits& hits) {
  const MemoryCounts device = counts_of(xcds);
  const double alone = memory_latency_cycles(hits.reads) - parameter::l2_latency_cycles;
  const double mean = outcome.memory_reads ? outcome.memory_read_cycles / static_cast<double>(outcome.memory_reads) : alone;
  const double remote = static_cast<double>(mean_remote_latency_cycles(device)) - parameter::l2_latency_cycles;
  return mean * static_cast<double>(device.memory_reads128) + remote * static_cast<double>(device.remote_reads64) +
         alone * static_cast<double>(device.memory_reads64 - device.remote_reads64);
}

uint64_t scaled(uint64_t cycles, double factor) { return static_cast<uint64_t>(static_cast<double>(cycles) * factor); }

// How busy each CU's busiest unit is, averaged over all CUs, since CUs without work leave room for other dispatches.
double use_of_units(const std::vector<XcdWork>& xcds, double cycles) {
  uint64_t busy = 0;
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) busy += cu.units.longest();
  }
  return static_cast<double>(busy) / (static_cast<double>(xcds.size() * target::cus_per_xcd()) * cycles);
}

double use_of_l2(const std::vector<XcdWork>& xcds, double cycles) {
  double busy = 0;
  for (const XcdWork& xcd : xcds) {
    busy += std::max(static_cast<double>(xcd.memory->l2_read_bytes()) / parameter::l2_read_bytes_per_cycle,
                     static_cast<double>(xcd.memory->l2_write_bytes()) / parameter::l2_write_bytes_per_cycle);
  }
  return busy / (static_cast<double>(xcds.size()) * cycles);
}

DeviceUse device_use(const std::vector<XcdWork>& xcds, const MallHits& hits, const WorkDone& work) {
  const auto cycles = static_cast<double>(std::max<uint64_t>(1, work.busy_cycles + work.release_cycles));
  const MemoryCounts device = counts_of(xcds);
  DeviceUse use;
  use.shares[DeviceUse::kUnits] = use_of_units(xcds, cycles);
  use.shares[DeviceUse::kL2] = use_of_l2(xcds, cycles);
  use.shares[DeviceUse::kMemory] = static_cast<double>(memory_cycles(device, hits) + work.release_cycles) / cycles;
  use.shares[DeviceUse::kLinks] = link_cycles(device) / cycles;
  for (double& share : use.shares) share = std::min(1.0, share);
  return use;
}

double nanoseconds(uint64_t cycles) { return static_cast<double>(cycles) * 1000 / parameter::clock_mhz; }

PowerUse power_use(const std::vector<XcdWork>& xcds, const MallHits& hits, const WorkDone& work) {
  constexpr double kPico = 1e-12;
  PowerUse use;
  for (const XcdWork& xcd : xcds) {
    use.busy_cus += active_cus(*xcd.cus);
    for (const CuWork& cu : *xcd.cus) {
      use.core_joules += static_cast<double>(cu.units.vector_total()) / 4 * parameter::energy_vector_quad_pj * kPico +
                         static_cast<double>(cu.units.matrix_total()) * parameter::energy_matrix_cycle_pj * kPico;
    }
  }
  const MemoryCounts device = counts_of(xcds);
  const uint64_t bytes = device.memory_read_bytes() + device.memory_write_bytes();
  use.memory_joules = static_cast<double>(bytes) * parameter::energy_memory_byte_pj * kPico;
  use.core_ns = nanoseconds(std::min(core_cycles(xcds), work.busy_cycles));
  use.memory_ns = nanoseconds(std::min(memory_cycles(device, hits), work.busy_cycles));
  use.other_ns = static_cast<double>(work.duration_ns) - std::max(use.core_ns, use.memory_ns);
  return use;
}

// Adjusts the times to a lower clock: whatever does not depend on the core clock takes fewer core cycles.
void lower_clock(WorkDone& work, const PowerUse& use, double mhz) {
  const double speed = mhz / parameter::clock_mhz;
  const double longer = use.ns(speed) - use.ns(1);
  const double busy = (nanoseconds(work.busy_cycles) + longer) * mhz / 1000;
  const uint64_t active = work.wave_cycles - std::min(work.wave_cycles, work.wait_cycles);
  work.wave_cycles = std::max(active, scaled(work.wave_cycles, busy / static_cast<double>(work.busy_cycles)));
  work.wait_cycles = work.wave_cycles - active;
  work.busy_cycles = static_cast<uint64_t>(busy);
  work.release_cycles = scaled(work.release_cycles, speed);
  work.memory_read_cycles = scaled(work.memory_read_cycles, speed);
  work.duration_ns += static_cast<uint64_t>(longer);
}

}  // namespace

static_assert(Mall::kWays == parameter::mall_ways);

WarmCaches::WarmCaches()
    : mall(parameter::mall_bytes), instructions(parameter::instruction_cache_bytes / kInstructionLineBytes) {}

WorkDone time_dispatch(const std::vector<XcdWork>& xcds, const std::vector<RecordedCu>& recorded_cus,
                       const MallLookUps& look_ups, InstructionCache& instructions, const TracedCu* traced,
                       DurationParts* parts) {
  const MallHits hits = mall_hits(look_ups, xcds);
  const uint64_t contended = contended_cycles(xcds);
  const RecordedCu& first = recorded_cus.front();
  if (traced) {
    InstructionCache instructions_of_cu = instructions;
    const CuConditions conditions = conditions_of(xcds, first, hits, contended);
    replay_cu(traced->recording, conditions, first.costs, instructions_of_cu, &traced->observer);
  }
  std::vector<ReplayedCuTime> cus;
  CuOutcome outcome;
  const InstructionCache instructions_before = instructions;
  for (const RecordedCu& recorded : recorded_cus) {
    const auto similar = [&](const ReplayedCuTime& cu) { return difference(recorded.all_work, *cu.work) <= kMaxDifference; };
    if (std::ranges::any_of(cus, similar)) continue;
    InstructionCache instructions_of_cu = instructions_before;
    InstructionCache& cache = cus.empty() ? instructions : instructions_of_cu;
    const CuConditions conditions = conditions_of(xcds, recorded, hits, contended);
    cus.push_back(replayed_cu(recorded, conditions, cache, outcome));
    if (parts) parts->replayed.push_back({recorded, conditions});
  }
  WorkDone work;
  uint64_t executed = 0;
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) {
      work.waves += cu.waves;
      executed += cu.instructions;
    }
  }
  const auto replayed = static_cast<double>(std::max<uint64_t>(1, outcome.instructions));
  const double rest_of_device = static_cast<double>(executed) / replayed;
  const UsefulWork useful(xcds);
  const CuCycles of_cus = cycles_of_cus(xcds, useful, cus);
  const DurationParts::LowerBounds lower_bounds = lower_bounds_of(xcds, useful, hits, contended);
  work.busy_cycles = std::max(static_cast<uint64_t>(of_cus.longest), lower_bound_cycles(lower_bounds));
  work.wave_cycles = scaled(outcome.wave_cycles, rest_of_device);
  work.wait_cycles = scaled(outcome.wait_cycles, rest_of_device);
  work.issue_wait_cycles = scaled(outcome.issue_wait_cycles, rest_of_device);
  work.memory_read_cycles = static_cast<uint64_t>(memory_read_cycles(xcds, outcome, hits));
  work.release_cycles =
      cycles_for(counts_of(xcds).release_bytes, memory_bytes_per_cycle(parameter::mall_write_gbps, hits.writes));
  work.duration_ns = parameter::launch_overhead_ns + (work.busy_cycles + work.release_cycles) * 1000 / parameter::clock_mhz;
  work.use = device_use(xcds, hits, work);
  if (parts) {
    parts->instructions.emplace(instructions_before);
    parts->busiest_cu = of_cus.longest;
    parts->mean_cu = of_cus.mean;
    parts->share_of_cus = static_cast<double>(useful.cus()) / static_cast<double>(xcds.size() * target::cus_per_xcd());
    parts->share_of_groups = useful.share_of_groups();
    parts->lower_bounds = lower_bounds;
    parts->release_cycles = work.release_cycles;
    parts->duration_ns = work.duration_ns;
  }
  if (parameter::power_limit_w == 0) return work;
  const PowerUse use = power_use(xcds, hits, work);
  if (const double mhz = sustained_mhz(use); mhz < parameter::clock_mhz) lower_clock(work, use, mhz);
  return work;
}

}  // namespace rpd
