// Half-precision vector arithmetic. Follows AMD's pseudo-code for CDNA3.
#include <cmath>

#include "exec/floating_point.h"
#include "exec/half_precision_lanes.h"
#include "exec/lane_function.h"

namespace rpd {
namespace {

Half add(Half a, Half b) { return settle_nan(static_cast<Half>(a + b), a, b); }
Half subtract(Half a, Half b) { return settle_nan(static_cast<Half>(a - b), a, b); }
Half multiply(Half a, Half b) { return settle_nan(static_cast<Half>(a * b), a, b); }
// In double precision, the product of two halves is exact. Its sum with a third half is either exact as well, or so large or so
// close to that half that the second rounding does not matter.
Half fused(Half a, Half b, Half c) {
  return settle_nan(to_half(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c)), a, b, c);
}
// A product and then a sum, each rounded.
Half multiply_add(Half a, Half b, Half c) { return add(multiply(a, b), c); }
template <double (*F)(double)>
Half through_double(Half v) {
  return settle_nan(to_half(F(static_cast<double>(v))), v);
}

double reciprocal(double x) { return 1.0 / x; }
double reciprocal_root(double x) { return 1.0 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double power_of_two(double x) { return std::exp2(x); }
double log_of_two(double x) { return std::log2(x); }
double round_even(double x) { return std::nearbyint(x); }
double up(double x) { return std::ceil(x); }
double down(double x) { return std::floor(x); }
double toward_zero(double x) { return std::trunc(x); }

int16_t exponent_of(Half v) {
  const auto x = static_cast<float>(v);
  if (std::isinf(x) || is_nan(x) || x == 0) return 0;
  int exponent;
  std::frexp(x, &exponent);
  return static_cast<int16_t>(exponent);
}
Half mantissa_of(Half v) {
  const auto x = static_cast<float>(v);
  if (std::isinf(x) || is_nan(x)) return settle_nan(v, v);
  int exponent;
  return static_cast<Half>(std::frexp(x, &exponent));
}
Half scale(Half v, int16_t exponent) { return settle_nan(to_half(std::ldexp(static_cast<double>(v), exponent)), v); }

Half divide_fixup(Half quotient, Half denominator, Half numerator) {
  const bool negative = (bits_of(denominator) ^ bits_of(numerator)) & kSignBit<Half>;
  const auto with_sign = [negative](float magnitude) { return static_cast<Half>(negative ? -magnitude : magnitude); };
  const float d = static_cast<float>(denominator);
  const float n = static_cast<float>(numerator);
  if (is_nan(n)) return quiet(numerator);
  if (is_nan(d)) return quiet(denominator);
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return -default_nan<Half>();
  if (d == 0 || std::isinf(n)) return with_sign(INFINITY);
  if (std::isinf(d) || n == 0) return with_sign(0);
  return with_sign(std::fabs(static_cast<float>(quotient)));
}
Half fraction(Half v) {
  const auto x = static_cast<double>(v);
  if (std::isinf(x)) return default_nan<Half>();
  const Half below_one = from_bits<Half>(bits_of(Half(1)) - 1);
  const Half result = to_half(x - std::floor(x));
  return settle_nan(result > below_one ? below_one : result, v);
}
// V_SIN/V_COS accept any number of revolutions.
constexpr double kTurn = 6.283185307179586476925286766559;
double sine_of_turns(double x) { return std::isinf(x) ? NAN : std::sin(std::remainder(x, 1.0) * kTurn); }
double cosine_of_turns(double x) { return std::isinf(x) ? NAN : std::cos(std::remainder(x, 1.0) * kTurn); }

// ---- the plain form of arithmetic ----

template <class OfSingles, auto OfHalves, size_t... I>
void run_plain_half(const Op& op, Wave& wave, std::index_sequence<I...>) {
  OperandCopy copies[sizeof...(I)];
  const HalfSource from[] = {{op.source[I], wave, copies[I]}...};
  uint32_t* const reg = wave.registers(op.destination);
  const uint32_t kept_bits = op.keeps_half ? 0xffff0000 : 0;
  for (int l = 0; l < kLanes; l += kChunk) {
    const Words halves = compute_halves<OfSingles, OfHalves>(from[I].at(l)...);
    store_words(reg + l, halves | (load_words(reg + l) & kept_bits), wave.exec() >> l);
  }
}

template <class OfSingles, auto OfHalves>
void execute_plain_half(const Op& op, Wave& wave) {
  run_plain_half<OfSingles, OfHalves>(op, wave, std::make_index_sequence<SignatureOf<OfHalves>::count>());
}

template <class OfSingles, auto OfHalves>
constexpr Semantics by_singles(const char* mnemonic) {
  Semantics entry = vector<OfHalves>(mnemonic);
  entry.plain = execute_plain_half<OfSingles, OfHalves>;
  return entry;
}
template <auto OfSingles, auto OfHalves>
constexpr Semantics half_arithmetic(const char* mnemonic) {
  return by_singles<RoundedTwice<OfSingles>, OfHalves>(mnemonic);
}

// The sources are the two factors and the addend, in that order.
constexpr Semantics half_fma(const char* mnemonic) {
  return by_singles<FusedHalves, [](Half a, Half b, Half c) { return fused(a, b, c); }>(mnemonic);
}

using enum Arithmetic;

const Semantics kTable[] = {
    half_arithmetic<[](float a, float b) { return a + b; }, [](Half a, Half b) { return add(a, b); }>("v_add_f16").as(Add),
    half_arithmetic<[](float a, float b) { return a - b; }, [](Half a, Half b) { return subtract(a, b); }>("v_sub_f16").as(Add),
    half_arithmetic<[](float a, float b) { return b - a; }, [](Half a, Half b) { return subtract(b, a); }>("v_subrev_f16")
        .as(Add),
    half_arithmetic<[](float a, float b) { return a * b; }, [](Half a, Half b) { return multiply(a, b); }>("v_mul_f16")
        .as(Multiply),
    by_ieee<minimum<Half, true>, minimum<Half, false>>("v_min_f16"),
    by_ieee<maximum<Half, true>, maximum<Half, false>>("v_max_f16"),
    keeps_upper_half(by_ieee<minimum3<Half, true>, minimum3<Half, false>>("v_min3_f16")),
    keeps_upper_half(by_ieee<maximum3<Half, true>, maximum3<Half, false>>("v_max3_f16")),
    keeps_upper_half(by_ieee<median3<Half, true>, median3<Half, false>>("v_med3_f16")),
    keeps_upper_half(half_fma("v_fma_f16").as(MultiplyAdd)),
    keeps_upper_half(vector<[](Half a, Half b, Half c) { return multiply_add(a, b, c); }>("v_mad_f16").as(MultiplyAdd)),
    vector<[](Half a, Half b, Half c) { return multiply_add(a, b, c); }>("v_mad_legacy_f16").as(MultiplyAdd),
    accumulates(half_fma("v_fmac_f16")).as(MultiplyAdd),
    vector<[](Half a, Half k, Half b) { return fused(a, k, b); }>("v_fmamk_f16").as(MultiplyAdd),
    half_fma("v_fmaak_f16").as(MultiplyAdd),
    accumulate<[](Half a, Half b, Half c) { return multiply_add(a, b, c); }>("v_mac_f16").as(MultiplyAdd),
    vector<[](Half a, Half k, Half b) { return multiply_add(a, k, b); }>("v_madmk_f16").as(MultiplyAdd),
    vector<[](Half a, Half b, Half k) { return multiply_add(a, b, k); }>("v_madak_f16").as(MultiplyAdd),
    with_poles(vector<[](Half v) { return through_double<reciprocal>(v); }>("v_rcp_f16").as(Transcendental)),
    rounds_to_nearest(vector<[](Half v) { return through_double<root>(v); }>("v_sqrt_f16").as(Transcendental)),
    with_poles(vector<[](Half v) { return through_double<reciprocal_root>(v); }>("v_rsq_f16").as(Transcendental)),
    rounds_to_nearest(vector<[](Half v) { return through_double<power_of_two>(v); }>("v_exp_f16").as(Transcendental)),
    with_poles(vector<[](Half v) { return through_double<log_of_two>(v); }>("v_log_f16").as(Transcendental)),
    rounds_to_nearest(vector<[](Half v) { return through_double<round_even>(v); }>("v_rndne_f16")),
    vector<[](Half v) { return through_double<up>(v); }>("v_ceil_f16"),
    vector<[](Half v) { return through_double<down>(v); }>("v_floor_f16"),
    vector<[](Half v) { return through_double<toward_zero>(v); }>("v_trunc_f16"),
    vector<[](Half v) { return fraction(v); }>("v_fract_f16"),
    rounds_to_nearest(vector<[](Half v) { return through_double<sine_of_turns>(v); }>("v_sin_f16").as(Transcendental)),
    rounds_to_nearest(vector<[](Half v) { return through_double<cosine_of_turns>(v); }>("v_cos_f16").as(Transcendental)),
    keeps_upper_half(with_poles(vector<[](Half q, Half d, Half n) { return divide_fixup(q, d, n); }>("v_div_fixup_f16"))),
    vector<[](Half v) { return exponent_of(v); }>("v_frexp_exp_i16_f16"),
    vector<[](Half v) { return mantissa_of(v); }>("v_frexp_mant_f16"),
    vector<[](Half v, int16_t e) { return scale(v, e); }>("v_ldexp_f16"),
};

}  // namespace

std::span<const Semantics> vector_half_semantics() { return kTable; }

}  // namespace rpd
