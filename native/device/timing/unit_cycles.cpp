#include "timing/unit_cycles.h"

#include "timing_parameters.inc.h"

namespace rpd {
namespace {

static_assert(CuUnits::kSimds == parameter::simds_per_cu);

void add_share(uint64_t& to, uint64_t cycles, double share) {
  to += share == 1 ? cycles : static_cast<uint64_t>(static_cast<double>(cycles) * share);
}

}  // namespace

void CuUnits::add(const WaveUnits& wave, uint32_t simd, uint64_t instructions, double share) {
  const uint64_t vector = parameter::issue_cycles * wave.vector_quads, issued = parameter::issue_cycles * instructions;
  add_share(simds_[simd].vector, vector, share);
  add_share(simds_[simd].matrix, wave.matrix, share);
  add_share(simds_[simd].scalar, issued - std::min(issued, vector), share);
  add_share(address_, wave.address, share);
  add_share(traffic_bytes_, wave.traffic_bytes, share);
  add_share(lds_, wave.lds, share);
}

CuUnits::Cycles CuUnits::cycles() const {
  return {busiest(&Simd::vector),
          busiest(&Simd::matrix),
          busiest(&Simd::scalar),
          address_,
          lds_,
          traffic_bytes_ / parameter::l1_bytes_per_cycle};
}

uint64_t CuUnits::longest() const {
  return std::max(
      {busiest(&Simd::vector), busiest(&Simd::matrix), address_, lds_, traffic_bytes_ / parameter::l1_bytes_per_cycle});
}

}  // namespace rpd
