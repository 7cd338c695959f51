// What registers, LDS and private memory hold before anything is written there.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace rpd {

// Zeros, or words drawn anew for each dispatch from a seed other than 0. Workgroups begin at different ones of them.
class InitialValues {
 public:
  explicit InitialValues(uint64_t seed) : seed_(seed), draw_(seed) {}

  // A dispatch begins.
  void begin();

  void fill(std::span<uint8_t> bytes, uint64_t group) const;
  void fill(std::span<uint32_t> words, uint64_t group) const;

 private:
  static constexpr uint64_t kWords = 4093;  // a prime, so that no two registers or rows of an array hold the same everywhere
  uint64_t seed_;
  std::mt19937_64 draw_;
  std::vector<uint32_t> words_;
};

}  // namespace rpd
