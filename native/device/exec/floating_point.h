// The hardware's floating-point behaviour where C++ leaves it open: NaNs, minimum and maximum, denormals.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace rpd {

using Half = _Float16;

template <size_t N>
using BitsFor = std::conditional_t<N == 2, uint16_t, std::conditional_t<N == 4, uint32_t, uint64_t>>;

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23, exponent = 8;
};
template <>
struct FloatBits<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52, exponent = 11;
};
template <>
struct FloatBits<Half> {
  using Bits = uint16_t;
  static constexpr int mantissa = 10, exponent = 5;
};

template <class T>
using BitsOf = typename FloatBits<T>::Bits;

template <class T>
constexpr BitsOf<T> bits_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
constexpr T from_bits(BitsOf<T> bits) {
  return std::bit_cast<T>(bits);
}

template <class T>
constexpr BitsOf<T> kSignBit = static_cast<BitsOf<T>>(BitsOf<T>{1} << (8 * sizeof(T) - 1));
template <class T>
constexpr BitsOf<T> kQuietBit = static_cast<BitsOf<T>>(BitsOf<T>{1} << (FloatBits<T>::mantissa - 1));
template <class T>
constexpr BitsOf<T> kMantissaMask = static_cast<BitsOf<T>>((BitsOf<T>{1} << FloatBits<T>::mantissa) - 1);

template <class T>
constexpr bool is_nan(T v) {
  if constexpr (sizeof(T) == 2) return static_cast<uint16_t>(bits_of(v) << 1) > 0xf800;  // v != v would not be vectorised
  else return v != v;
}
template <class T>
constexpr T quiet(T nan) {
  return from_bits<T>(static_cast<BitsOf<T>>(bits_of(nan) | kQuietBit<T>));
}
// The NaN that an invalid operation returns: positive and quiet, which is LLVM's canonical NaN for this target (x86's own is
// negative). Only V_DIV_FIXUP returns a negative NaN: its pseudo-code spells out 0xffc00000.
template <class T>
constexpr T default_nan() {
  constexpr int width = FloatBits<T>::exponent;
  return from_bits<T>(static_cast<BitsOf<T>>(((BitsOf<T>{1} << width) - 1) << FloatBits<T>::mantissa | kQuietBit<T>));
}
template <class T>
constexpr int biased_exponent(T v) {
  return static_cast<int>(bits_of(v) >> FloatBits<T>::mantissa & ((1 << FloatBits<T>::exponent) - 1));
}
template <class T>
constexpr bool is_denormal(T v) {
  return (biased_exponent(v) == 0) & ((bits_of(v) & kMantissaMask<T>) != 0);
}
template <class T>
constexpr bool is_signalling(T v) {
  return is_nan(v) & !(bits_of(v) & kQuietBit<T>);
}

// A selection that compilers do not turn into a branch, since a branch would keep them from vectorising several selections in a
// row.
template <class T>
constexpr T choose(bool condition, T yes, T no) {
  const auto mask = static_cast<BitsOf<T>>(-static_cast<BitsOf<T>>(condition));
  return from_bits<T>(static_cast<BitsOf<T>>((bits_of(yes) & mask) | (bits_of(no) & ~mask)));
}

// The NaN rule for arithmetic: a NaN result becomes the first NaN operand, quieted, or the default NaN if no operand is a NaN.
// The code has no branches, so that compilers can vectorise loops over lanes.
template <class T, class... A>
constexpr T settle_nan(T result, A... operand) {
  BitsOf<T> chosen = bits_of(default_nan<T>());
  bool has_nan = false;
  const auto consider = [&](T value) {
    const bool nan = is_nan(value);
    chosen = nan & !has_nan ? static_cast<BitsOf<T>>(bits_of(value) | kQuietBit<T>) : chosen;
    has_nan |= nan;
  };
  (consider(static_cast<T>(operand)), ...);
  return from_bits<T>(is_nan(result) ? chosen : bits_of(result));
}

// Rounds once, in the host's rounding mode. The vector code that compilers generate converts via a single, which would round
// twice. So the single is first rounded to odd: exact values do not change, and inexact ones never lie half-way between two
// halves.
inline Half to_half(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const bool inexact = back != value, away = std::fabs(back) > std::fabs(value);
  return static_cast<Half>(from_bits<float>((bits_of(nearest) - (inexact & away)) | static_cast<uint32_t>(inexact)));
}

// Minimum and maximum with -0 < +0; a number wins over a quiet NaN. In IEEE mode (MODE bit 9, which compilers set for kernels),
// a signalling NaN wins and is returned as a quiet NaN. If the number must win even then, compilers quiet the operands first.
template <class T, bool Ieee>
constexpr T chosen_number(bool first, T a, T b) {
  T result = choose(first, a, b);
  result = choose(is_nan(b), a, result);
  result = choose(is_nan(a), b, result);
  if constexpr (Ieee) {
    result = choose(is_signalling(b), quiet(b), result);
    result = choose(is_signalling(a), quiet(a), result);
  }
  return result;
}
template <class T, bool Ieee>
constexpr T minimum(T a, T b) {
  const bool negative = bits_of(a) & kSignBit<T>;
  return chosen_number<T, Ieee>((a < b) | ((a == b) & negative), a, b);
}
template <class T, bool Ieee>
constexpr T maximum(T a, T b) {
  const bool negative = bits_of(a) & kSignBit<T>;
  return chosen_number<T, Ieee>((a > b) | ((a == b) & !negative), a, b);
}
template <class T, bool Ieee>
constexpr T minimum3(T a, T b, T c) {
  return minimum<T, Ieee>(minimum<T, Ieee>(a, b), c);
}
template <class T, bool Ieee>
constexpr T maximum3(T a, T b, T c) {
  return maximum<T, Ieee>(maximum<T, Ieee>(a, b), c);
}
// IEEE 754-2019's minimum and maximum of three: a NaN wins and is returned as a quiet NaN.
template <class T>
constexpr T nan_propagating_minimum3(T a, T b, T c) {
  return settle_nan(is_nan(a) | is_nan(b) | is_nan(c) ? default_nan<T>() : minimum3<T, false>(a, b, c), a, b, c);
}
template <class T>
constexpr T nan_propagating_maximum3(T a, T b, T c) {
  return settle_nan(is_nan(a) | is_nan(b) | is_nan(c) ? default_nan<T>() : maximum3<T, false>(a, b, c), a, b, c);
}

template <class T, bool Ieee>
constexpr T median3(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum3<T, Ieee>(a, b, c);
  if (maximum3<T, Ieee>(a, b, c) == a) return maximum<T, Ieee>(b, c);
  if (maximum3<T, Ieee>(a, b, c) == b) return maximum<T, Ieee>(a, c);
  return maximum<T, Ieee>(a, b);
}

// MODE.FP16_OVFL: a half (or an 8-bit float) that overflows becomes the largest number with its sign, whatever the rounding
// mode; results that are infinite for any other reason stay infinite.
constexpr uint32_t kModeHalfSaturates = 1u << 23;
constexpr bool overflow_saturates(uint32_t mode) { return mode & kModeHalfSaturates; }

// The transcendental unit reads and writes single-precision denormals as zero.
inline float flush(float v) { return is_denormal(v) ? std::copysign(0.0f, v) : v; }

// Bits of the mask: 0 sNaN, 1 qNaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf.
template <class T>
bool in_class(T v, uint32_t mask) {
  const bool negative = bits_of(v) & kSignBit<T>;
  if (is_nan(v)) return mask >> (is_signalling(v) ? 0 : 1) & 1;
  const int top = (1 << FloatBits<T>::exponent) - 1;
  if (biased_exponent(v) == top) return mask >> (negative ? 2 : 9) & 1;
  if (biased_exponent(v) != 0) return mask >> (negative ? 3 : 8) & 1;
  if (is_denormal(v)) return mask >> (negative ? 4 : 7) & 1;
  return mask >> (negative ? 5 : 6) & 1;
}

}  // namespace rpd
