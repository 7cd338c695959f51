// Access to one lane's value in the one or two registers that hold it: [register][lane] words.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/floating_point.h"
#include "isa/op.h"

namespace rpd {

template <class T>
T lane_value(const uint32_t* reg, int lane) {
  if constexpr (sizeof(T) == 8) return std::bit_cast<T>(reg[lane] | static_cast<uint64_t>(reg[kLanes + lane]) << 32);
  else return std::bit_cast<T>(reg[lane]);
}

template <class T>
void set_lane(uint32_t* reg, int lane, T value) {
  const auto bits = std::bit_cast<BitsFor<sizeof(T)>>(value);
  reg[lane] = static_cast<uint32_t>(bits);
  if constexpr (sizeof(T) == 8) reg[kLanes + lane] = static_cast<uint32_t>(bits >> 32);
}

// Where a narrow value is placed: in all 32 bits, or in one half (d16).
enum class Half16 { Whole, Low, High };

// Keeps the other half.
template <Half16 Where>
constexpr uint32_t place_narrow(uint32_t old, uint32_t wide) {
  if constexpr (Where == Half16::Low) return (old & 0xffff0000u) | (wide & 0xffff);
  if constexpr (Where == Half16::High) return (old & 0xffff) | wide << 16;
  return wide;
}

// The contents of a register that held `old`, after a narrow value has been loaded into it. If the registers have ECC enabled,
// as on CDNA targets, the other half is not preserved (LLVM: GCNSubtarget::d16PreservesUnusedBits); AMD's matrix libraries rely
// on it being zero.
template <Half16 Where>
constexpr uint32_t loaded_narrow(const Op& op, uint32_t old, uint32_t wide) {
  return place_narrow<Where>(op.keeps_half ? old : 0, wide);
}

}  // namespace rpd
