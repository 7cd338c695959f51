// How many cycles the waves of a CU keep its units busy, regardless of what else happens at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace rpd {

// Busy time caused by one wave, counted while it executes.
struct WaveUnits {
  uint64_t vector_quads = 0;  // its SIMD's vector unit, in quad-cycles ...
  uint64_t matrix = 0;        // ... and its matrix unit, in cycles
  uint64_t address = 0;       // the CU's address unit for vector memory
  uint64_t traffic_bytes = 0; // traffic between the CU's L1 and the L2
  uint64_t lds = 0;
};

// Busy time caused by all waves of a CU. Everything that a wave issues to units other than the vector unit is counted as work
// of its SIMD's scalar unit.
class CuUnits {
 public:
  static constexpr size_t kSimds = 4;
  enum Kind : size_t { kVector, kMatrix, kScalar, kAddress, kLds, kTraffic, kKinds };
  using Cycles = std::array<uint64_t, kKinds>;

  // `instructions`: how many instructions the wave issued. `share`: the fraction of the wave's work to add.
  void add(const WaveUnits& wave, uint32_t simd, uint64_t instructions, double share = 1);
  // The busy time of the units that serve accesses; known only if the waves were observed.
  struct Memory {
    uint64_t address = 0, traffic_bytes = 0, lds = 0;
  };
  Memory memory() const { return {address_, traffic_bytes_, lds_}; }
  void set(const Memory& memory) { address_ = memory.address, traffic_bytes_ = memory.traffic_bytes, lds_ = memory.lds; }
  // The busy time of the busiest unit of each kind.
  Cycles cycles() const;
  // The busy time of one kind of unit, summed over all SIMDs.
  uint64_t vector_total() const { return total(&Simd::vector); }
  uint64_t matrix_total() const { return total(&Simd::matrix); }
  // The longest time for which any unit is certain to be busy. Leaves out the scalar units, whose busy time is only estimated.
  uint64_t longest() const;

 private:
  struct Simd {
    uint64_t vector = 0, matrix = 0, scalar = 0;
  };
  uint64_t busiest(uint64_t Simd::* kind) const {
    uint64_t longest = 0;
    for (const Simd& simd : simds_) longest = std::max(longest, simd.*kind);
    return longest;
  }

  uint64_t total(uint64_t Simd::* kind) const {
    uint64_t sum = 0;
    for (const Simd& simd : simds_) sum += simd.*kind;
    return sum;
  }

  std::array<Simd, kSimds> simds_{};
  uint64_t address_ = 0;
  uint64_t traffic_bytes_ = 0;
  uint64_t lds_ = 0;
};

}  // namespace rpd
