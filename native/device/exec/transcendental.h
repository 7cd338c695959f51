// Single-precision exponentials and logarithms for a chunk of lanes. The results are the host library's double-precision
// results, rounded. A fast computation with a small error comes first; where that error could change the rounded result, the
// library is called.
#pragma once

#include <cmath>
#include <cstdint>

#include "exec/floating_point.h"
#include "exec/unmodified_operands_fast_path.h"

namespace rpd {

// A result, and whether it is doubtful: its error could change the rounding, or the operand is outside the usual range.
struct Estimate {
  float value;
  bool doubtful;
};

// Whether a double is so close to the midpoint between two singles that an error of a few units in its last place matters. The
// error of the functions below is less than four units, and the library's is less than one.
inline bool is_near_tie(double value) {
  constexpr uint64_t below = uint64_t{1} << 29, middle = below / 2, margin = 16;
  const uint64_t rest = bits_of(value) & (below - 1);
  return rest - (middle - margin) <= 2 * margin;
}

// Evaluates a polynomial, given its coefficients from the highest down. (A loop over them would keep compilers from computing
// lanes in parallel.)
template <class... C>
inline double horner(double x, double highest, C... others) {
  double sum = highest;
  ((sum = std::fma(sum, x, others)), ...);
  return sum;
}

// 2^x, from the Taylor polynomial of e^t for |t| <= ln(2) / 2. The first omitted term is less than 1e-17.
inline Estimate quick_exponential(float x) {
  constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, which the lowest bits hold
  const bool usual = (x >= -125.0f) & (x <= 127.5f);
  const double in = static_cast<double>(choose(usual, x, 0.0f));
  const double shifted = in + to_integer;
  const double t = (in - (shifted - to_integer)) * 0.693147180559945309417;
  const double sum = horner(t, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                            1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0);
  const double result = from_bits<double>(bits_of(sum) + (bits_of(shifted) << 52));
  return {static_cast<float>(result), !(usual & !is_near_tie(result))};
}

// The base-2 logarithm, from the series of the inverse hyperbolic tangent for |s| < 0.172.
inline Estimate quick_logarithm(float x) {
  const bool usual = (x >= 0x1p-126f) & (x <= 0x1.fffffep127f);
  const double in = static_cast<double>(choose(usual, x, 1.0f));
  // The exponent for which the mantissa lies between the square roots of 1/2 and 2, plus 1024.
  constexpr uint64_t root_of_half = 0x3fe6a09e667f3bcd, more = uint64_t{1024} << 52;
  const uint64_t shifted = (bits_of(in) - root_of_half + more) >> 52;
  const double mantissa = from_bits<double>(bits_of(in) + more - (shifted << 52));
  const double exponent = static_cast<double>(static_cast<int32_t>(shifted)) - 1024;
  const double s = (mantissa - 1) / (mantissa + 1), square = s * s;
  const double sum =
      horner(square, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3);
  // The first term is kept separate so that its rounding is the only one that matters.
  const double of_mantissa = std::fma(s * square, sum, s) * 2.88539008177792681472;
  const double result = exponent + of_mantissa;
  return {static_cast<float>(result), !(usual & !is_near_tie(result))};
}

template <auto Quick, auto Exact>
inline Chunk<float> estimate_chunk(const Chunk<float>& in) {
  Chunk<float> out;
  Chunk<int32_t> doubtful;
#pragma GCC unroll 1
  for (int l = 0; l < kChunk; ++l) {
    const Estimate estimate = Quick(in.lane[l]);
    out.lane[l] = estimate.value;
    doubtful.lane[l] = -static_cast<int32_t>(estimate.doubtful);
  }
  for (uint64_t remaining = bits_of_lanes(doubtful); remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    out.lane[l] = Exact(in.lane[l]);
  }
  return out;
}

// The plain form of an instruction: Quick estimates the result of each lane, and Exact computes it where the estimate is
// doubtful.
template <auto Quick, auto Exact>
void execute_estimated(const Op& op, Wave& wave) {
  const uint64_t exec = wave.exec();
  if (exec == 0) return;
  OperandCopy copy;
  const SourceWords from = words_of<float>(op.source[0], wave, copy);
  uint32_t* const to = wave.registers(op.destination);
  for (int l = 0; l < kLanes; l += kChunk) {
    const Chunk<float> out = estimate_chunk<Quick, Exact>(load_chunk<float, false>(from.at(l)));
    store_chunk<false, false>(to + l, out, exec >> l);
  }
}

}  // namespace rpd
