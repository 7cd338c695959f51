// The initial contents of registers, LDS and private memory.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace rpd {

// Zeros for seed 0; for any other seed, random words, drawn anew for each dispatch. Workgroup i starts at word i % kWords.
class InitialValues {
 public:
  explicit InitialValues(uint64_t seed) : seed_(seed), draw_(seed) {}

  // Draws new words for a dispatch that is about to begin.
  void begin();

  void fill(std::span<uint8_t> bytes, uint64_t group) const;
  void fill(std::span<uint32_t> words, uint64_t group) const;

 private:
  static constexpr uint64_t kWords = 4093;  // a prime, so that no two registers or array rows hold the same words throughout
  uint64_t seed_;
  std::mt19937_64 draw_;
  std::vector<uint32_t> words_;
};

}  // namespace rpd
