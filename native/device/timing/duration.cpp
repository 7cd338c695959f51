#include "timing/duration.h"

#include <algorithm>

#include "timing/beyond_l2.h"
#include "timing/cu_simulator.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

double per_cycle(double gbps) { return gbps * 1000.0 / parameter::clock_mhz; }

// Of the Infinity Cache and the HBM behind it, when the former answers `hits` of the requests.
double memory_bytes_per_cycle(double hits) {
  const double hbm = per_cycle(parameter::hbm_gbps * parameter::hbm_efficiency);
  const double mall = per_cycle(parameter::mall_gbps);
  return hits >= 1 ? mall : std::min(mall, hbm / (1 - hits));
}
double memory_latency_cycles(double hits) {
  return hits * parameter::mall_latency_cycles + (1 - hits) * parameter::hbm_latency_cycles;
}

uint64_t active_cus(const std::vector<CuWork>& cus) {
  return static_cast<uint64_t>(std::count_if(cus.begin(), cus.end(), [](const CuWork& cu) { return cu.waves > 0; }));
}

CuSurroundings surroundings_of(const std::vector<XcdWork>& xcds, uint32_t resident_groups, double mall_hits) {
  uint64_t active = 0;
  for (const XcdWork& xcd : xcds) active += active_cus(*xcd.cus);
  const auto fair_share = [](double total, uint64_t sharers) {
    return std::min<double>(parameter::l1_bytes_per_cycle, total / static_cast<double>(std::max<uint64_t>(1, sharers)));
  };
  return {resident_groups, fair_share(parameter::l2_bytes_per_cycle, active_cus(*xcds[0].cus)),
          fair_share(memory_bytes_per_cycle(mall_hits), active), memory_latency_cycles(mall_hits)};
}

// How much longer the busiest CU takes than the sampled one. Up to what is resident, waves run side by side and the
// longest counts; beyond, they run one after another and their sum does.
double imbalance(const std::vector<XcdWork>& xcds, const CuWork& sampled, bool side_by_side) {
  double worst = 1;
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) {
      const auto mine = static_cast<double>(side_by_side ? cu.longest_wave : cu.wave_cycles);
      worst = std::max(worst, mine / static_cast<double>(std::max<uint64_t>(1, side_by_side ? sampled.longest_wave : sampled.wave_cycles)));
    }
  }
  return worst;
}

// No dispatch is faster than its traffic at full bandwidth, or than its longest wave alone on the device.
uint64_t least_cycles(const std::vector<XcdWork>& xcds, double mall_hits) {
  uint64_t least = 0;
  MemoryCounts device;
  for (const XcdWork& xcd : xcds) {
    device.add(*xcd.memory);
    least = std::max(least, xcd.memory->l2_bytes() / parameter::l2_bytes_per_cycle);
    for (const CuWork& cu : *xcd.cus) least = std::max(least, cu.longest_wave);
  }
  return std::max(least, static_cast<uint64_t>(static_cast<double>(device.memory_bytes()) / memory_bytes_per_cycle(mall_hits)));
}

uint64_t scaled(uint64_t cycles, double factor) { return static_cast<uint64_t>(static_cast<double>(cycles) * factor); }

}  // namespace

WorkDone time_dispatch(const std::vector<XcdWork>& xcds, const CuTrace& sample, uint32_t resident_groups, Mall& mall,
                       const WatchedCu* watched) {
  const double mall_hits = mall_hit_share(mall, xcds);
  const CuSurroundings surroundings = surroundings_of(xcds, resident_groups, mall_hits);
  const CuOutcome outcome = simulate_cu(sample, surroundings);
  if (watched) simulate_cu(watched->trace, surroundings, &watched->observer);
  WorkDone work;
  uint64_t instructions = 0;
  for (const XcdWork& xcd : xcds) {
    for (const CuWork& cu : *xcd.cus) {
      work.waves += cu.waves;
      instructions += cu.instructions;
    }
  }
  const CuWork& sampled = xcds[0].cus->front();
  const auto replayed = static_cast<double>(std::max<uint64_t>(1, outcome.instructions));
  const double rest_of_cu = static_cast<double>(sampled.instructions) / replayed;
  const double rest_of_device = static_cast<double>(instructions) / replayed;
  const bool side_by_side = sample.groups().size() <= resident_groups;
  work.busy_cycles = std::max(scaled(outcome.cycles, rest_of_cu * imbalance(xcds, sampled, side_by_side)), least_cycles(xcds, mall_hits));
  work.wave_cycles = scaled(outcome.wave_cycles, rest_of_device);
  work.wait_cycles = scaled(outcome.wait_cycles, rest_of_device);
  work.issue_wait_cycles = scaled(outcome.issue_wait_cycles, rest_of_device);
  work.duration_ns = parameter::launch_overhead_ns + work.busy_cycles * 1000 / parameter::clock_mhz;
  return work;
}

}  // namespace rpd
