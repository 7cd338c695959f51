// The floating-point part of the MODE register: rounding, denormals, and what becomes of halves that overflow.
//
// Compilers start kernels in the mode that rounds to nearest, keeps denormals and lets results overflow to infinity. An
// instruction's usual `execute` implements only this mode. In any other mode its `in_mode`, if there is one, runs instead (see
// execute_by_mode()): first a pass over the operands, then the same function as usual, and finally a pass over the results.
#pragma once

#include <cfenv>
#include <cstddef>

#include "exec/floating_point.h"
#include "exec/wave.h"

namespace rpd {

// Bits of MODE.
constexpr uint32_t kModeRounding = 0xf;       // 1:0 for singles, 3:2 for doubles and halves
constexpr uint32_t kModeDenormals = 0xf0;  // 5:4, 7:6 likewise; the lower bits keep denormal operands, the upper bits results
constexpr uint32_t kModeFloat = kModeRounding | kModeDenormals | kModeHalfSaturates;

constexpr bool has_unusual_floats(uint32_t mode) { return ((mode ^ kModeDenormals) & kModeFloat) != 0; }

template <class T>
constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half>;
template <class T>
constexpr bool is_wide_or_half = std::is_same_v<T, double> || std::is_same_v<T, Half>;

class FloatMode {
 public:
  explicit constexpr FloatMode(uint32_t mode) : mode_(mode) {}

  template <class T>
  bool keeps_operand_denormals() const {
    return mode_ >> (is_wide_or_half<T> ? 6 : 4) & 1;
  }
  template <class T>
  bool keeps_result_denormals() const {
    return mode_ >> (is_wide_or_half<T> ? 7 : 5) & 1;
  }

  // The rounding mode for std::fesetround. The field for doubles and halves applies if the result or any operand is a double or
  // a half: conversions between formats round as that field says (LLVM, SIModeRegister, for V_CVT_F16_F32 and V_CVT_F32_F64).
  template <class... T>
  int rounding() const {
    constexpr int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    return host[mode_ >> ((is_wide_or_half<T> || ...) ? 2 : 0) & 3];
  }

  bool saturates() const { return overflow_saturates(mode_); }

  // "If output denormals are enabled, then output modifiers are ignored"; they are also ignored if the IEEE bit is set (CDNA3
  // ISA).
  template <class T>
  bool modifies_output() const {
    return !keeps_result_denormals<T>() && !(mode_ & kModeIeee);
  }

 private:
  uint32_t mode_;
};

// Sets the host's rounding mode for the lifetime of the object.
class HostRounding {
 public:
  explicit HostRounding(int rounding) : changed_(rounding != FE_TONEAREST) {
    if (changed_) std::fesetround(rounding);
  }
  ~HostRounding() {
    if (changed_) std::fesetround(FE_TONEAREST);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  bool changed_;
};

// Forces the values to be computed before this point: the compiler does not know that the rounding mode changes.
inline void force_computed(const void* values) { asm volatile("" : : "r"(values) : "memory"); }

template <class T>
void flush_denormals(T* values, int count = kLanes) {
  using B = BitsOf<T>;
  constexpr B exponent = static_cast<B>(((B{1} << FloatBits<T>::exponent) - 1) << FloatBits<T>::mantissa);
  auto* bits = reinterpret_cast<B*>(values);
  for (int l = 0; l < count; ++l) bits[l] = bits[l] & exponent ? bits[l] : static_cast<B>(bits[l] & kSignBit<T>);
}

// ---- results ----

template <class T>
constexpr bool is_infinite(T v) {
  return (biased_exponent(v) == (1 << FloatBits<T>::exponent) - 1) & !(bits_of(v) & kMantissaMask<T>);
}

constexpr uint16_t kMaxHalf = 0x7bff;

// An infinite result has overflowed unless the operands make it truly infinite. If it has overflowed, it becomes the largest
// half with its sign.
inline Half saturated_half(Half result, bool truly_infinite) {
  if (truly_infinite || !is_infinite(result)) return result;
  return from_bits<Half>(static_cast<uint16_t>((bits_of(result) & kSignBit<Half>) | kMaxHalf));
}

// Whether an operand makes the result infinite without an overflow. With `has_poles`, an operand of 0 does so as well, as in
// 1/x.
template <class T>
constexpr bool gives_infinity(T operand, bool has_poles) {
  if constexpr (is_float<T>) return is_infinite(operand) || (has_poles && operand == T(0));
  else return false;
}

// Applies an output modifier. It also turns -0 and denormals into +0, since it takes effect only where denormals are flushed.
template <class T>
T modified(T value, T factor) {
  if (is_nan(value)) return value;
  const T product = static_cast<T>(value * factor);
  return biased_exponent(product) == 0 ? T(0) : product;
}
template <class T>
void modify_results(const Op& op, const FloatMode& mode, T* values) {
  if (op.output_modifier == OutputModifier::None || !mode.modifies_output<T>()) return;
  constexpr double factors[] = {1, 2, 4, 0.5};
  const T factor = static_cast<T>(factors[static_cast<int>(op.output_modifier)]);
  for (int l = 0; l < kLanes; ++l) values[l] = modified(values[l], factor);
}

template <class R>
void flush_results(const FloatMode& mode, R* values) {
  if constexpr (is_float<R>) {
    if (!mode.keeps_result_denormals<R>()) flush_denormals(values);
  }
}

}  // namespace rpd
