#include "timing/lds_banks.h"

#include <algorithm>
#include <array>
#include <bit>

namespace rpd {
namespace {

constexpr uint32_t kBanks = 32;  // of 4 bytes

// The number of lanes that one pass handles; lower if the access is wider than 4 bytes.
uint32_t lanes_in_pass(uint32_t bytes) { return std::max(1u, kBanks / std::max(1u, bytes / 4)); }

// The demands that one pass makes on the banks. Lanes that access the same word share it; atomics on the same word are
// serialised.
class Pass {
 public:
  void add(uint32_t word) {
    const uint32_t bank = word % kBanks;
    max_accesses_ = std::max(max_accesses_, ++accesses_[bank]);
    uint32_t* words = words_[bank];
    for (uint32_t i = 0; i < distinct_[bank]; ++i) {
      if (words[i] == word) return;
    }
    words[distinct_[bank]++] = word;
    max_words_ = std::max(max_words_, distinct_[bank]);
  }
  uint32_t max_words() const { return max_words_; }
  uint32_t max_accesses() const { return max_accesses_; }

 private:
  std::array<uint32_t, kBanks> accesses_{};
  std::array<uint32_t, kBanks> distinct_{};
  uint32_t words_[kBanks][kBanks];  // a pass has at most 32 words
  uint32_t max_words_ = 0, max_accesses_ = 0;
};

// Loads and stores at consecutive addresses, or all at the same address, have no conflicts.
LdsPasses passes_of_pattern(const VectorAccess& access) {
  const uint32_t lanes = lanes_in_pass(access.bytes);
  LdsPasses out;
  for (uint32_t first = 0; first < kLanes; first += lanes) {
    const uint64_t lane_bits = ((uint64_t{1} << lanes) - 1) << first;
    out.passes += (access.mask & lane_bits) != 0;
  }
  out.cycles = out.passes;
  return out;
}

using Distances = LdsPatterns::Distances;

// How many words each lane's word is from that of the first active lane.
void list_lanes(const VectorAccess& access, Distances& out) {
  const auto first = static_cast<uint32_t>(access.address[std::countr_zero(access.mask)] / 4);
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t word = static_cast<uint32_t>(access.address[l] / 4) - first;
    out[l] = access.mask >> l & 1 ? word : 0;
  }
}

// How many bytes each row's address is from the word of the first row.
void list_rows(const VectorAccess& access, Distances& out) {
  for (int row = 0; row < kRows; ++row) out[row] = static_cast<uint32_t>(access.address[row] - access.address[0] / 4 * 4);
}

template <int Count>
bool same(const Distances& a, const Distances& b) {
  uint32_t differ = 0;
  for (int i = 0; i < Count; ++i) differ |= a[i] ^ b[i];
  return differ == 0;
}

}  // namespace

// A pass handles 32 lanes of up to 4 bytes each, fewer if the access is wider.
LdsPasses lds_passes(const VectorAccess& access) {
  const uint32_t words = std::max(1u, access.bytes / 4);
  const uint32_t lanes = lanes_in_pass(access.bytes);
  const bool atomic = access.kind == AccessKind::Atomic;
  LdsPasses out;
  for (uint32_t first = 0; first < kLanes; first += lanes) {
    std::array<uint32_t, kBanks> accessed;
    uint32_t count = 0, banks = 0;
    for (uint32_t l = first; l < std::min<uint32_t>(first + lanes, kLanes); ++l) {
      if (!(access.mask >> l & 1)) continue;
      for (uint32_t w = 0; w < words; ++w) {
        accessed[count] = static_cast<uint32_t>(access.at(static_cast<int>(l)) / 4 + w);
        banks |= 1u << accessed[count++] % kBanks;
      }
    }
    if (count == 0) continue;
    ++out.passes;
    if (static_cast<uint32_t>(std::popcount(banks)) == count) {  // each word is in a bank of its own
      ++out.cycles;
      continue;
    }
    Pass pass;
    for (uint32_t i = 0; i < count; ++i) pass.add(accessed[i]);
    out.cycles += atomic ? pass.max_accesses() : pass.max_words();
    out.bank_conflicts += pass.max_words() - 1;
  }
  return out;
}

LdsPasses LdsPatterns::passes(const Op& op, const VectorAccess& access) {
  if (access.mask == 0) return {};
  const bool free_of_conflicts = access.pattern == LanePattern::Consecutive || access.pattern == LanePattern::Same;
  if (free_of_conflicts && access.kind != AccessKind::Atomic) return passes_of_pattern(access);
  Pattern& recent = recent_[op.index % kRecent];
  const bool in_rows = access.pattern == LanePattern::Rows;
  alignas(64) Distances distances;
  if (in_rows) list_rows(access, distances);
  else list_lanes(access, distances);
  const bool is_known = in_rows ? same<kRows>(distances, recent.distances) : same<kLanes>(distances, recent.distances);
  if (is_known && recent.is_like(access)) return recent.passes;
  recent = {access.mask, access.bytes, access.kind, access.pattern, access.step, lds_passes(access), distances};
  return recent.passes;
}

}  // namespace rpd
