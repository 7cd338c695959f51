// Reads and writes operands, a scalar or 64 lanes at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "exec/floating_point.h"
#include "exec/wave.h"
#include "isa/semantics.h"

namespace rpd {

// The operand type that a C++ parameter type stands for.
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, Half>) return Type::F16;
  if constexpr (std::is_same_v<T, uint16_t> || std::is_same_v<T, int16_t>) return Type::B16;
  if constexpr (std::is_same_v<T, float>) return Type::F32;
  if constexpr (std::is_same_v<T, double>) return Type::F64;
  if constexpr (std::is_same_v<T, int32_t>) return Type::I32;
  if constexpr (std::is_same_v<T, int64_t>) return Type::I64;
  if constexpr (std::is_same_v<T, uint64_t>) return Type::B64;
  return Type::B32;
}

template <size_t N>
using Bits = BitsFor<N>;

// ---- scalar ----

template <class T>
T read_scalar(const Operand& operand, const Wave& wave) {
  using B = Bits<sizeof(T)>;
  B bits{};
  switch (operand.kind) {
    case Operand::Kind::Scalar: std::memcpy(&bits, &wave.scalar[operand.reg], sizeof bits); break;
    case Operand::Kind::Constant: bits = static_cast<B>(operand.constant); break;
    case Operand::Kind::Scc: bits = wave.scc; break;
    case Operand::Kind::Vccz: bits = wave.vcc() == 0; break;
    case Operand::Kind::Execz: bits = wave.exec() == 0; break;
    default: break;
  }
  return std::bit_cast<T>(bits);
}

template <class T>
void write_scalar(const Operand& operand, Wave& wave, T value) {
  const auto bits = std::bit_cast<Bits<sizeof(T)>>(value);
  std::memcpy(&wave.scalar[operand.reg], &bits, sizeof bits);
}

// ---- 64 lanes ----

inline bool is_vector(const Operand& operand) {
  return operand.kind == Operand::Kind::Vector || operand.kind == Operand::Kind::Accumulator;
}

uint32_t select_bits(uint32_t value, Select select, bool sign_extend);

// Applies DPP and SDWA selection to the raw bits in the registers of a 32-bit or 16-bit operand.
void select_lanes(const Op& op, const Operand& operand, const Wave& wave, const uint32_t* from, uint32_t* to);

template <class T>
void apply_sign(const Operand& operand, T* values) {
  using B = Bits<sizeof(T)>;
  constexpr B sign = B{1} << (8 * sizeof(T) - 1);
  auto* bits = reinterpret_cast<B*>(values);
  if (operand.absolute) {
    for (int l = 0; l < kLanes; ++l) bits[l] &= static_cast<B>(~sign);
  }
  if (operand.negate) {
    for (int l = 0; l < kLanes; ++l) bits[l] ^= sign;
  }
}

// The 64 values of a source operand: in place if it is an unmodified register of 32-bit values, else in `temp`.
template <class T>
struct Lanes {
  const T* data;
  alignas(64) T temp[kLanes];

  // The values in a form that the caller may modify: values in a register are copied first.
  T* own() {
    if (data != temp) std::memcpy(temp, data, sizeof temp);
    data = temp;
    return temp;
  }

  Lanes(const Lanes&) = delete;  // `data` may point into the object itself
  Lanes& operator=(const Lanes&) = delete;

  Lanes(const Op& op, const Operand& operand, const Wave& wave) {
    if (!is_vector(operand)) {
      const T value = read_scalar<T>(operand, wave);
      for (int l = 0; l < kLanes; ++l) temp[l] = value;
      data = temp;
      if (operand.modified()) modify_scalar(op, operand, wave);
      return;
    }
    const uint32_t* reg = wave.registers(operand);
    if constexpr (sizeof(T) == 4) {
      data = reinterpret_cast<const T*>(reg);
      if (operand.modified()) {
        select_lanes(op, operand, wave, reg, reinterpret_cast<uint32_t*>(temp));
        apply_sign(operand, temp);
        data = temp;
      }
    } else if constexpr (sizeof(T) == 8) {
      alignas(64) uint32_t low[kLanes];
      alignas(64) uint32_t high[kLanes];
      const uint32_t* lo = reg;
      const uint32_t* hi = reg + kLanes;
      if (operand.dpp) {
        select_lanes(op, operand, wave, lo, low);
        select_lanes(op, operand, wave, hi, high);
        lo = low;
        hi = high;
      }
      auto* bits = reinterpret_cast<uint64_t*>(temp);
      for (int l = 0; l < kLanes; ++l) bits[l] = lo[l] | static_cast<uint64_t>(hi[l]) << 32;
      apply_sign(operand, temp);
      data = temp;
    } else {
      alignas(64) uint32_t words[kLanes];
      select_lanes(op, operand, wave, reg, words);
      auto* bits = reinterpret_cast<uint16_t*>(temp);
      const unsigned shift = operand.high_half ? 16 : 0;
      for (int l = 0; l < kLanes; ++l) bits[l] = static_cast<uint16_t>(words[l] >> shift);
      apply_sign(operand, temp);
      data = temp;
    }
  }

 private:
  void modify_scalar(const Op& op, const Operand& operand, const Wave& wave) {
    if constexpr (sizeof(T) == 4) {
      alignas(64) uint32_t bits[kLanes];
      std::memcpy(bits, temp, sizeof bits);
      select_lanes(op, operand, wave, bits, reinterpret_cast<uint32_t*>(temp));
    }
    apply_sign(operand, temp);
  }
};

// The lanes to which a vector result is written: exec, except for the lanes that DPP leaves unchanged.
inline uint64_t write_mask(const Op& op, const Wave& wave) {
  const uint64_t exec = wave.exec();
  return op.permutation ? exec & op.permutation->written(exec) : exec;
}

inline void write_lanes32(uint32_t* reg, const uint32_t* values, uint64_t mask) {
  if (mask == ~0ull) {
    std::memcpy(reg, values, kLanes * sizeof(uint32_t));
    return;
  }
  for (int l = 0; l < kLanes; ++l) reg[l] = (mask >> l & 1) ? values[l] : reg[l];
}

// Writes 32-bit results as the SDWA destination selection prescribes.
void write_selected(const Op& op, uint32_t* reg, const uint32_t* values, uint64_t mask);

// Applies clamp to 64 floating-point results; integer instructions implement clamp themselves (see saturates). Output modifiers
// (mul:2, mul:4, div:2) take effect in unusual modes only: see FloatMode::modifies_output.
template <class R>
void clamp_lanes(const Op& op, const Wave& wave, R* values) {
  if constexpr (std::is_floating_point_v<R> || std::is_same_v<R, Half>) {
    if (!op.clamp) return;
    const bool keeps_nan = !(wave.mode & kModeDx10Clamp);
    for (int l = 0; l < kLanes; ++l) {
      const R value = values[l];
      if (keeps_nan && is_nan(value)) continue;
      values[l] = !(value > R(0)) ? R(0) : value > R(1) ? R(1) : value;
    }
  }
}

// Writes 64 results to the lanes that exec (and DPP) permit. On gfx9, as on gfx8, most 16-bit results clear the upper half of
// the register, but the results of instructions that are new in gfx9 or take op_sel keep it, as all 16-bit results do on gfx10
// (LLVM: GCNSubtarget::zeroesHigh16BitsOfDest).
template <class R>
void write_lanes(const Op& op, Wave& wave, R* values) {
  clamp_lanes(op, wave, values);
  const uint64_t mask = write_mask(op, wave);
  uint32_t* reg = wave.registers(op.destination);
  if constexpr (sizeof(R) == 4) {
    const auto* bits = reinterpret_cast<const uint32_t*>(values);
    if (op.destination_select != Select::Dword) return write_selected(op, reg, bits, mask);
    write_lanes32(reg, bits, mask);
  } else if constexpr (sizeof(R) == 8) {
    const auto* bits = reinterpret_cast<const uint64_t*>(values);
    alignas(64) uint32_t low[kLanes];
    alignas(64) uint32_t high[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      low[l] = static_cast<uint32_t>(bits[l]);
      high[l] = static_cast<uint32_t>(bits[l] >> 32);
    }
    write_lanes32(reg, low, mask);
    write_lanes32(reg + kLanes, high, mask);
  } else {
    const auto* bits = reinterpret_cast<const uint16_t*>(values);
    alignas(64) uint32_t words[kLanes];
    for (int l = 0; l < kLanes; ++l) words[l] = bits[l];
    if (op.destination_high) {
      for (int l = 0; l < kLanes; ++l) words[l] = words[l] << 16 | (reg[l] & 0xffff);
    } else if (op.keeps_half) {
      for (int l = 0; l < kLanes; ++l) words[l] |= reg[l] & 0xffff0000u;
    }
    if (op.destination_select != Select::Dword) return write_selected(op, reg, words, mask);
    write_lanes32(reg, words, mask);
  }
}

}  // namespace rpd
