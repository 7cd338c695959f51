#include "timing/duration.h"

#include <algorithm>

#include "timing_parameters.inc.h"

namespace rpd {

uint64_t CuWork::cycles(uint32_t resident_waves) const {
  const auto unit = [this](IssueUnit which) { return issue_cycles[static_cast<size_t>(which)]; };
  // Each SIMD issues its own vector instructions; the scalar unit serves one SIMD a cycle, so four waves' worth of
  // four-cycle slots pass in parallel; address and LDS units are shared by the CU.
  const uint64_t issue = std::max({unit(IssueUnit::Vector) / parameter::simds_per_cu, unit(IssueUnit::Scalar) / parameter::simds_per_cu,
                                   unit(IssueUnit::VectorMemory), unit(IssueUnit::Lds)});
  const uint64_t latency = std::max(longest_wave, wave_cycles / std::max(1u, resident_waves));
  return std::max(issue, latency);
}

uint64_t l2_cycles(const MemoryCounts& xcd) { return xcd.l2_bytes() / parameter::l2_bytes_per_cycle; }

uint64_t memory_cycles(const MemoryCounts& device) {
  const double bytes_per_cycle = parameter::hbm_gbps * parameter::hbm_efficiency * 1000.0 / parameter::clock_mhz;
  return static_cast<uint64_t>(static_cast<double>(device.memory_bytes()) / bytes_per_cycle);
}

uint64_t cycles_to_ns(uint64_t cycles) { return cycles * 1000 / parameter::clock_mhz; }

}  // namespace rpd
