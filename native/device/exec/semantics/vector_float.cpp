// Single- and double-precision vector arithmetic. Follows AMD's pseudo-code for CDNA3.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "exec/floating_point.h"
#include "exec/lane_function.h"
#include "exec/semantics/two_over_pi.h"
#include "exec/transcendental.h"

namespace rpd {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

template <class T>
T add(T a, T b) {
  return settle_nan(a + b, a, b);
}
template <class T>
T subtract(T a, T b) {
  return settle_nan(a - b, a, b);
}
template <class T>
T multiply(T a, T b) {
  return settle_nan(a * b, a, b);
}
template <class T>
T fused(T a, T b, T c) {
  return settle_nan(std::fma(a, b, c), a, b, c);
}

// ---- the transcendental unit: results are correctly rounded here (hardware: within 1 ulp); denormals are flushed ----

template <double (*F)(double)>
float special(float x) {
  const float in = flush(x);
  const float out = static_cast<float>(F(static_cast<double>(in)));
  return settle_nan(flush(out), x);
}
double reciprocal(double x) { return 1.0 / x; }
double reciprocal_root(double x) { return 1.0 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double power_of_two(double x) { return std::exp2(x); }
double log_of_two(double x) { return std::log2(x); }

// Adds a plain form that is faster and gives the same results: see transcendental.h.
template <auto Quick, double (*F)(double)>
constexpr Semantics estimated(Semantics entry) {
  entry.plain = execute_estimated<Quick, special<F>>;
  return entry;
}

// V_SIN/V_COS accept any number of revolutions (gfx8 and older: up to 256).
constexpr double kTurn = 6.283185307179586476925286766559;
double sine_of_turns(double x) { return std::isinf(x) ? NAN : std::sin(std::remainder(x, 1.0) * kTurn); }
double cosine_of_turns(double x) { return std::isinf(x) ? NAN : std::cos(std::remainder(x, 1.0) * kTurn); }

// ---- division: the three steps that turn the result of v_rcp into a correctly rounded quotient ----

template <class T>
constexpr int kScaleBy = sizeof(T) == 4 ? 64 : 128;
template <class T>
constexpr int kFarApart = sizeof(T) == 4 ? 96 : 768;
template <class T>
constexpr int kTinyNumerator = sizeof(T) == 4 ? 23 : 53;

template <class T>
bool same_bits(T a, T b) {
  return bits_of(a) == bits_of(b);
}

struct Scaling {
  int power;  // D = ldexp(S0, power)
  bool flag;  // vcc
};

// S0 is the operand to scale: the same register as S1 (denominator) or S2 (numerator). This departs from the published
// pseudo-code where the sequence would otherwise not give IEEE's quotient: "1.0 / 64'F(S1)" is computed in the operation's own
// precision (a float's reciprocal is never a denormal double); a quotient that rounds to zero counts as denormal; and if both
// the reciprocal and the quotient are tiny, the (huge) denominator is scaled down, instead of up into infinity. The most
// specific case takes precedence, and so comes last.
template <class T>
[[gnu::always_inline]] inline Scaling division_scaling(T s0, T denominator, T numerator) {
  constexpr int by = kScaleBy<T>;
  const bool scales_denominator = same_bits(s0, denominator), scales_numerator = same_bits(s0, numerator);
  const bool tiny_reciprocal = is_denormal(T(1) / denominator);
  const bool tiny_quotient = std::fabs(numerator / denominator) < std::numeric_limits<T>::min();
  const bool far_apart = biased_exponent(numerator) - biased_exponent(denominator) >= kFarApart<T>;
  const bool denormal = is_denormal(denominator);
  const auto either = [](bool condition, int yes, int no) { return no ^ ((no ^ yes) & -static_cast<int>(condition)); };
  int power = either(biased_exponent(numerator) <= kTinyNumerator<T>, by, 0);
  power = either(tiny_quotient, either(scales_numerator, by, 0), power);
  power = either(tiny_reciprocal, -by, power);
  power = either(tiny_reciprocal & tiny_quotient, either(scales_denominator, -by, 0), power);
  power = either(denormal, by, power);
  power = either(far_apart, either(scales_denominator, by, 0), power);
  return {power, static_cast<bool>(far_apart | (!denormal & tiny_quotient))};
}

template <class T>
T scaled(T value, int power) {
  constexpr int by = kScaleBy<T>, bias = (1 << (FloatBits<T>::exponent - 1)) - 1;
  constexpr T up = from_bits<T>(BitsOf<T>{bias + by} << FloatBits<T>::mantissa);
  constexpr T down = from_bits<T>(BitsOf<T>{bias - by} << FloatBits<T>::mantissa);
  return choose(power == 0, value, value * choose(power > 0, up, down));
}

// Scaling by a power of two is exact: no rounding, whatever the mode.
template <class T>
void divide_scale(const Op& op, Wave& wave) {
  const FloatMode mode(wave.mode);
  Lanes<T> s0(op, op.source[0], wave);
  Lanes<T> s1(op, op.source[1], wave);
  Lanes<T> s2(op, op.source[2], wave);
  for (Lanes<T>* source : {&s0, &s1, &s2}) enter_mode(mode, *source);
  alignas(64) T out[kLanes];
  alignas(64) i32 flagged[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const Scaling scaling = division_scaling(s0.data[l], s1.data[l], s2.data[l]);
    const bool invalid = (s1.data[l] == 0) | (s2.data[l] == 0);
    out[l] = choose(invalid, default_nan<T>(), scaled(s0.data[l], scaling.power));
    flagged[l] = scaling.flag & !invalid;
  }
  u64 flags = 0;
  for (int l = 0; l < kLanes; ++l) flags |= static_cast<u64>(flagged[l]) << l;
  flush_results(mode, out);
  write_lanes(op, wave, out);
  wave.set_mask(op.scalar_destination.reg, flags & wave.exec());
}

template <class T>
void plain_divide_scale(const Op& op, Wave& wave) {
  constexpr bool wide = sizeof(T) == 8;
  using Flag = std::conditional_t<wide, int64_t, int32_t>;
  OperandCopy copies[3];
  const SourceWords s0 = words_of<T>(op.source[0], wave, copies[0]), s1 = words_of<T>(op.source[1], wave, copies[1]),
                    s2 = words_of<T>(op.source[2], wave, copies[2]);
  uint32_t* const to = wave.registers(op.destination);
  u64 flags = 0;
  for (int l = 0; l < kLanes; l += kChunk) {
    const auto value = load_chunk<T, wide>(s0.at(l)), denominator = load_chunk<T, wide>(s1.at(l)),
               numerator = load_chunk<T, wide>(s2.at(l));
    Chunk<T> out;
    Chunk<Flag> flagged;
    for (int i = 0; i < kChunk; ++i) {
      const Scaling scaling = division_scaling(value.lane[i], denominator.lane[i], numerator.lane[i]);
      const bool invalid = (denominator.lane[i] == 0) | (numerator.lane[i] == 0);
      out.lane[i] = choose(invalid, default_nan<T>(), scaled(value.lane[i], scaling.power));
      flagged.lane[i] = -static_cast<Flag>(scaling.flag & !invalid);
    }
    flags |= bits_of_lanes(flagged) << l;
    store_chunk<wide, false>(to + l, out, wave.exec() >> l);
  }
  wave.set_mask(op.scalar_destination.reg, flags & wave.exec());
}

template <class T>
constexpr Semantics divides_scaled(const char* mnemonic) {
  Semantics entry{mnemonic, divide_scale<T>, Unit::Valu, 2, type_of<T>(), {type_of<T>(), type_of<T>(), type_of<T>()}};
  entry.plain = plain_divide_scale<T>;
  entry.in_mode = divide_scale<T>;
  return entry;
}

// fma(a, b, c) * 2^power, rounded only once: a denormal quotient must not first be rounded as if it were a normal number.
#if defined(__SIZEOF_FLOAT128__)
using Quad = __float128;
#else
using Quad = long double;
#endif
// a + b rounded to odd. The result is never a tie, so rounding it to a narrower format is the same as rounding only once.
template <class Wide, class WideBits>
Wide add_to_odd(Wide a, Wide b) {
  const Wide sum = a + b;
  if (sum - sum != 0) return sum;  // infinity, NaN
  const Wide from_b = sum - a;
  const Wide error = (a - (sum - from_b)) + (b - from_b);
  if (error == 0) return sum;
  WideBits bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if ((error < 0) != (sum < 0)) --bits;  // back to the truncated sum
  bits |= 1;
  Wide odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return odd;
}
template <class T>
using WiderThan = std::conditional_t<sizeof(T) == 4, double, Quad>;
template <class T>
WiderThan<T> scaled_fma(T a, T b, T c, int power) {
  using Wide = WiderThan<T>;
  using WideBits = std::conditional_t<sizeof(T) == 4, u64, unsigned __int128>;
  const Wide product = static_cast<Wide>(a) * static_cast<Wide>(b);  // exact
  return add_to_odd<Wide, WideBits>(product, static_cast<Wide>(c)) * static_cast<Wide>(std::ldexp(1.0, power));
}

// D = fma(S0, S1, S2), scaled back where v_div_scale has set vcc. The CDNA pseudo-code scales by 2**32 and 2**64, which does
// not undo v_div_scale's 2**64 and 2**128. RDNA's pseudo-code does, so it is used here: it scales up if the quotient is large,
// and down otherwise.
template <class T>
WiderThan<T> scaled_back(T a, T b, T c) {
  constexpr int bias = (1 << (FloatBits<T>::exponent - 1)) - 1;
  return scaled_fma(a, b, c, biased_exponent(c) > bias ? kScaleBy<T> : -kScaleBy<T>);
}
template <class T>
void divide_fmas(const Op& op, Wave& wave) {
  const FloatMode mode(wave.mode);
  Lanes<T> a(op, op.source[0], wave);
  Lanes<T> b(op, op.source[1], wave);
  Lanes<T> c(op, op.source[2], wave);
  for (Lanes<T>* source : {&a, &b, &c}) enter_mode(mode, *source);
  const u64 scaled = wave.vcc();
  WiderThan<T> wide[kLanes];
  for (u64 remaining = scaled; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    wide[l] = scaled_back(a.data[l], b.data[l], c.data[l]);
  }
  alignas(64) T out[kLanes];
  {
    const HostRounding rounding(mode.rounding<T>());
    for (int l = 0; l < kLanes; ++l) out[l] = fused(a.data[l], b.data[l], c.data[l]);
    for (u64 remaining = scaled; remaining; remaining &= remaining - 1) {
      const int l = std::countr_zero(remaining);
      // The sign of an exact zero sum depends on the rounding mode.
      if (wide[l] != 0) out[l] = settle_nan(static_cast<T>(wide[l]), a.data[l], b.data[l], c.data[l]);
    }
    modify_results(op, mode, out);
    force_computed(out);
  }
  flush_results(mode, out);
  write_lanes(op, wave, out);
}

constexpr Semantics by_vcc(Semantics entry) {
  entry.reads_vcc = true;
  return entry;
}

// Usually, nothing has to be scaled back.
template <class T>
void plain_divide_fmas(const Op& op, Wave& wave) {
  constexpr auto fma = [](T a, T b, T c) { return std::fma(a, b, c); };
  if (wave.vcc() == 0) execute_plain<fma, Nans::Settled, SignatureOf<fma>>(op, wave);
  else divide_fmas<T>(op, wave);
}

template <class T>
constexpr Semantics divides_by_fma(const char* mnemonic) {
  Semantics entry{mnemonic, divide_fmas<T>, Unit::Valu, 1, type_of<T>(), {type_of<T>(), type_of<T>(), type_of<T>()}};
  entry.plain = plain_divide_fmas<T>;
  entry.in_mode = divide_fmas<T>;
  return by_vcc(entry).as(Arithmetic::MultiplyAdd);
}

// The most specific case takes precedence, and so comes last.
template <class T>
T divide_fixup(T quotient, T denominator, T numerator) {
  constexpr int smallest = sizeof(T) == 4 ? -150 : -1075;
  const BitsOf<T> sign = (bits_of(denominator) ^ bits_of(numerator)) & kSignBit<T>;
  const T infinity = from_bits<T>(bits_of(std::numeric_limits<T>::infinity()) | sign);
  const T zero = from_bits<T>(sign);
  const bool no_number = ((numerator == 0) & (denominator == 0)) | (is_infinite(numerator) & is_infinite(denominator));
  T result = from_bits<T>((bits_of(quotient) & ~kSignBit<T>) | sign);
  // A NaN quotient means that the division overflows: all other cases that make it NaN are handled below.
  result = choose(is_nan(quotient), infinity, result);
  result = choose(biased_exponent(numerator) - biased_exponent(denominator) < smallest, zero, result);
  result = choose(is_infinite(denominator) | (numerator == 0), zero, result);
  result = choose(is_infinite(numerator) | (denominator == 0), infinity, result);
  result = choose(no_number, -default_nan<T>(), result);
  result = choose(is_nan(denominator), quiet(denominator), result);
  return choose(is_nan(numerator), quiet(numerator), result);
}

template <class T>
T fraction(T v) {
  if (std::isinf(v)) return default_nan<T>();
  const T below_one = from_bits<T>(bits_of(T(1)) - 1);
  const T result = v - std::floor(v);
  return settle_nan(result < below_one ? result : is_nan(result) ? result : below_one, v);
}
// A denormal gives its true exponent and a normalised mantissa, and zero gives exponent 0 (the pseudo-code's "exponent(S0) -
// 127 + 1" holds for normal numbers only; the device libraries' frexp relies on the other cases).
template <class T>
i32 exponent_of(T v) {
  if (std::isinf(v) || is_nan(v) || v == 0) return 0;
  int exponent;
  std::frexp(v, &exponent);
  return exponent;
}
template <class T>
T mantissa_of(T v) {
  if (std::isinf(v) || is_nan(v)) return settle_nan(v, v);
  int exponent;
  return std::frexp(v, &exponent);
}
// Rounds once, and overflows only if the result does; the pseudo-code's factor 2.0F ** n could overflow by itself.
double scale(double v, i32 exponent) { return settle_nan(std::ldexp(v, exponent), v); }
// Exact in double precision. Exponents beyond the limits below change nothing: the result overflows, or rounds like the
// smallest numbers.
float scale(float v, i32 exponent) {
  const i32 limited = std::clamp(exponent, -400, 400);
  const double factor = from_bits<double>(static_cast<u64>(1023 + limited) << 52);
  return settle_nan(static_cast<float>(static_cast<double>(v) * factor), v);
}

// A 53-bit segment of 2/pi, for the exact reduction of large angles. The larger the angle, the further along the segment
// starts.
double reduction_segment(double angle, u32 segment) {
  const u32 exponent = bits_of(angle) >> 52 & 0x7ff;
  u32 skip = (segment & 0x1f) * 53;
  if (exponent > 1077) skip += exponent - 1077;
  int power = -53 - static_cast<int>(skip);
  if (exponent >= 1968) power += 128;
  return std::ldexp(static_cast<double>(bits_of_two_over_pi(skip)), power);
}

float legacy_multiply(float a, float b) { return a == 0 || b == 0 ? 0.0f : multiply(a, b); }

// A product with 0 is 0, whatever the other factor is.
float legacy_fused(float a, float b, float c) { return a == 0 || b == 0 ? settle_nan(0.0f + c, c) : fused(a, b, c); }

// V_MAD_F32 and similar instructions round twice and flush denormals, whatever MODE says. Compilers use them in code that
// flushes denormals.
float multiply_then_add(float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); }
float legacy_multiply_then_add(float a, float b, float c) {
  return flush(a) == 0 || flush(b) == 0 ? 0.0f + flush(c) : multiply_then_add(a, b, c);
}

using enum Arithmetic;

const Semantics kTable[] = {
    arithmetic<[](float a, float b) { return a + b; }>("v_add_f32").as(Add),
    arithmetic<[](float a, float b) { return a - b; }>("v_sub_f32").as(Add),
    vector<[](float a, float b) { return subtract(b, a); }>("v_subrev_f32").as(Add),
    arithmetic<[](float a, float b) { return a * b; }>("v_mul_f32").as(Multiply),
    vector<[](float a, float b) { return legacy_multiply(a, b); }>("v_mul_legacy_f32").as(Multiply),
    by_ieee<minimum<float, true>, minimum<float, false>>("v_min_f32"),
    by_ieee<maximum<float, true>, maximum<float, false>>("v_max_f32"),
    by_ieee<minimum3<float, true>, minimum3<float, false>>("v_min3_f32"),
    vector<nan_propagating_minimum3<float>>("v_minimum3_f32"),
    vector<nan_propagating_maximum3<float>>("v_maximum3_f32"),
    by_ieee<maximum3<float, true>, maximum3<float, false>>("v_max3_f32"),
    by_ieee<median3<float, true>, median3<float, false>>("v_med3_f32"),
    arithmetic<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_fma_f32").as(MultiplyAdd),
    accumulates(arithmetic<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_fmac_f32")).as(MultiplyAdd),
    arithmetic<[](float a, float k, float b) { return std::fma(a, k, b); }>("v_fmamk_f32").as(MultiplyAdd),
    arithmetic<[](float a, float b, float k) { return std::fma(a, b, k); }>("v_fmaak_f32").as(MultiplyAdd),
    vector<[](float a, float b, float c) { return legacy_fused(a, b, c); }>("v_fma_legacy_f32").as(MultiplyAdd),
    accumulate<[](float a, float b, float c) { return legacy_fused(a, b, c); }>("v_fmac_legacy_f32").as(MultiplyAdd),
    arithmetic<[](float a, float b, float c) { return multiply_then_add(a, b, c); }>("v_mad_f32").as(MultiplyAdd),
    accumulates(arithmetic<[](float a, float b, float c) { return multiply_then_add(a, b, c); }>("v_mac_f32")).as(MultiplyAdd),
    arithmetic<[](float a, float k, float b) { return multiply_then_add(a, k, b); }>("v_madmk_f32").as(MultiplyAdd),
    arithmetic<[](float a, float b, float k) { return multiply_then_add(a, b, k); }>("v_madak_f32").as(MultiplyAdd),
    vector<[](float a, float b, float c) {
      const float sum = legacy_multiply_then_add(a, b, c);
      return flush(a) == 0 || flush(b) == 0 ? settle_nan(sum, c) : settle_nan(sum, a, b, c);
    }>("v_mad_legacy_f32")
        .as(MultiplyAdd),
    vector<[](float v) { return settle_nan(std::trunc(v), v); }>("v_trunc_f32"),
    vector<[](float v) { return settle_nan(std::ceil(v), v); }>("v_ceil_f32"),
    vector<[](float v) { return settle_nan(std::floor(v), v); }>("v_floor_f32"),
    rounds_to_nearest(vector<[](float v) { return settle_nan(std::nearbyint(v), v); }>("v_rndne_f32")),
    vector<[](float v) { return fraction(v); }>("v_fract_f32"),
    estimated<quick_exponential, power_of_two>(
        rounds_to_nearest(vector<[](float v) { return special<power_of_two>(v); }>("v_exp_f32").as(Transcendental))),
    estimated<quick_logarithm, log_of_two>(
        rounds_to_nearest(vector<[](float v) { return special<log_of_two>(v); }>("v_log_f32").as(Transcendental))),
    rounds_to_nearest(vector<[](float v) { return special<reciprocal>(v); }>("v_rcp_f32").as(Transcendental)),
    rounds_to_nearest(vector<[](float v) { return special<reciprocal>(v); }>("v_rcp_iflag_f32").as(Transcendental)),
    rounds_to_nearest(vector<[](float v) { return special<reciprocal_root>(v); }>("v_rsq_f32").as(Transcendental)),
    rounds_to_nearest(vector<[](float v) { return special<root>(v); }>("v_sqrt_f32").as(Transcendental)),
    rounds_to_nearest(vector<[](float v) { return special<sine_of_turns>(v); }>("v_sin_f32").as(Transcendental)),
    rounds_to_nearest(vector<[](float v) { return special<cosine_of_turns>(v); }>("v_cos_f32").as(Transcendental)),
    vector<[](float v) { return exponent_of(v); }>("v_frexp_exp_i32_f32"),
    vector<[](float v) { return mantissa_of(v); }>("v_frexp_mant_f32"),
    vector<[](float v, i32 e) { return scale(v, e); }>("v_ldexp_f32"),
    divides_scaled<float>("v_div_scale_f32"),
    divides_by_fma<float>("v_div_fmas_f32"),
    rounds_to_nearest(vector<[](float q, float d, float n) { return divide_fixup(q, d, n); }>("v_div_fixup_f32")),

    arithmetic<[](double a, double b) { return a + b; }>("v_add_f64").as(Add),
    arithmetic<[](double a, double b) { return a * b; }>("v_mul_f64").as(Multiply),
    by_ieee<minimum<double, true>, minimum<double, false>>("v_min_f64"),
    by_ieee<maximum<double, true>, maximum<double, false>>("v_max_f64"),
    arithmetic<[](double a, double b, double c) { return std::fma(a, b, c); }>("v_fma_f64").as(MultiplyAdd),
    accumulates(arithmetic<[](double a, double b, double c) { return std::fma(a, b, c); }>("v_fmac_f64")).as(MultiplyAdd),
    vector<[](double v) { return settle_nan(std::trunc(v), v); }>("v_trunc_f64"),
    vector<[](double v) { return settle_nan(std::ceil(v), v); }>("v_ceil_f64"),
    vector<[](double v) { return settle_nan(std::floor(v), v); }>("v_floor_f64"),
    rounds_to_nearest(vector<[](double v) { return settle_nan(std::nearbyint(v), v); }>("v_rndne_f64")),
    vector<[](double v) { return fraction(v); }>("v_fract_f64"),
    rounds_to_nearest(vector<[](double v) { return settle_nan(reciprocal(v), v); }>("v_rcp_f64").as(Transcendental)),
    rounds_to_nearest(vector<[](double v) { return settle_nan(reciprocal_root(v), v); }>("v_rsq_f64").as(Transcendental)),
    rounds_to_nearest(vector<[](double v) { return settle_nan(root(v), v); }>("v_sqrt_f64").as(Transcendental)),
    vector<[](double v) { return exponent_of(v); }>("v_frexp_exp_i32_f64"),
    vector<[](double v) { return mantissa_of(v); }>("v_frexp_mant_f64"),
    vector<[](double v, i32 e) { return scale(v, e); }>("v_ldexp_f64"),
    rounds_to_nearest(vector<[](double angle, u32 segment) { return reduction_segment(angle, segment); }>("v_trig_preop_f64")),
    divides_scaled<double>("v_div_scale_f64"),
    divides_by_fma<double>("v_div_fmas_f64"),
    rounds_to_nearest(vector<[](double q, double d, double n) { return divide_fixup(q, d, n); }>("v_div_fixup_f64")),
};

}  // namespace

std::span<const Semantics> vector_float_semantics() { return kTable; }

}  // namespace rpd
