// How many cycles waves keep the units of a CU busy, regardless of what else happens at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace rpd {

// Busy time caused by one wave, counted while it executes.
struct WaveUnits {
  uint64_t vector_quads = 0;  // of its SIMD: quad-cycles of the vector unit ...
  uint64_t matrix = 0;        // ... and cycles of the matrix unit
  uint64_t address = 0;       // of the CU: the vector memory's address unit
  uint64_t traffic_bytes = 0; // between the CU's L1 and the L2
  uint64_t lds = 0;
};

// Busy time caused by all waves of a CU. Everything that a wave issues to units other than the vector unit is counted as work
// of its SIMD's scalar unit.
class CuUnits {
 public:
  static constexpr size_t kSimds = 4;
  enum Kind : size_t { kVector, kMatrix, kScalar, kAddress, kLds, kTraffic, kKinds };
  using Cycles = std::array<uint64_t, kKinds>;

  // `instructions`: the number that the wave issued. `share`: the fraction of the wave's work that counts.
  void add(const WaveUnits& wave, uint32_t simd, uint64_t instructions, double share = 1);
  // The units that waves' accesses keep busy. CuUnits knows how long only if the waves were observed.
  struct Memory {
    uint64_t address = 0, traffic_bytes = 0, lds = 0;
  };
  Memory memory() const { return {address_, traffic_bytes_, lds_}; }
  void set(const Memory& memory) { address_ = memory.address, traffic_bytes_ = memory.traffic_bytes, lds_ = memory.lds; }
  // The busy time of the busiest unit of each kind.
  Cycles cycles() const;
  // Busy time of all SIMDs' units of a kind, one after the other.
  uint64_t vector_total() const { return total(&Simd::vector); }
  uint64_t matrix_total() const { return total(&Simd::matrix); }
  // The longest time that any unit is certain to be busy. Leaves out the scalar units, which are only estimated.
  uint64_t longest() const;

 private:
  struct Simd {
    uint64_t vector = 0, matrix = 0, scalar = 0;
  };
  uint64_t busiest(uint64_t Simd::* kind) const {
    uint64_t most = 0;
    for (const Simd& simd : simds_) most = std::max(most, simd.*kind);
    return most;
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
