// Conversions between number formats. Follows AMD's pseudo-code for CDNA3: conversions from float to integer truncate,
// saturate, and return 0 for NaN.
#include <cmath>
#include <limits>

#include "exec/floating_point.h"
#include "exec/fnuz_float.h"
#include "exec/half_precision_lanes.h"
#include "exec/lane_function.h"
#include "exec/ocp_float.h"

namespace rpd {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

template <class To, class From>
To saturate(From v) {
  if (is_nan(v)) return 0;
  constexpr auto low = std::numeric_limits<To>::min();
  constexpr auto high = std::numeric_limits<To>::max();
  const double truncated = std::trunc(static_cast<double>(v));
  if (truncated <= static_cast<double>(low)) return low;
  if (truncated >= static_cast<double>(high)) return high;
  return static_cast<To>(truncated);
}

float widen(Half v) { return is_nan(v) ? quiet(static_cast<float>(v)) : static_cast<float>(v); }
Half narrow(float v) { return settle_nan(static_cast<Half>(v), static_cast<Half>(v)); }

// The plain forms. The host's conversions, like narrow() and widen(), quiet NaNs and keep the upper bits of their payloads.
void narrow_lanes(const Op& op, Wave& wave) {
  OperandCopy copy;
  const SourceWords from = words_of<float>(op.source[0], wave, copy);
  u32* const reg = wave.registers(op.destination);
  const u32 kept_bits = op.keeps_half ? 0xffff0000 : 0;
  for (int l = 0; l < kLanes; l += kChunk) {
    const Words halves = halves_of(load_chunk<float, false>(from.at(l)));
    store_words(reg + l, halves | (load_words(reg + l) & kept_bits), wave.exec() >> l);
  }
}
void widen_lanes(const Op& op, Wave& wave) {
  OperandCopy copy;
  const HalfSource from(op.source[0], wave, copy);
  u32* const reg = wave.registers(op.destination);
  for (int l = 0; l < kLanes; l += kChunk) store_words(reg + l, half_of(singles_of(from.at(l))), wave.exec() >> l);
}

// Rounds toward zero: steps back if the nearest half is farther from zero than v.
u16 narrow_toward_zero(float v) {
  const Half nearest = static_cast<Half>(v);
  u16 bits = bits_of(nearest);
  if (is_nan(v)) return bits_of(narrow(v));
  if (std::fabs(static_cast<float>(nearest)) > std::fabs(v) && !std::isinf(v)) --bits;
  return bits;
}

// Rounds once: the product is exact in double precision.
template <class To>
u16 normalise(double v) {
  constexpr double scale = std::numeric_limits<To>::max();
  const double low = std::is_signed_v<To> ? -1.0 : 0.0;
  const double clamped = std::isnan(v) ? 0.0 : std::fmin(std::fmax(v, low), 1.0);
  return static_cast<u16>(static_cast<To>(std::nearbyint(clamped * scale)));
}

// The two halves of a register.
struct HalfPair {
  Half low, high;
};
HalfPair narrow_pair_toward_zero(float low, float high) {
  return {from_bits<Half>(narrow_toward_zero(low)), from_bits<Half>(narrow_toward_zero(high))};
}
HalfPair narrow_pair_to_nearest(float low, float high) { return {narrow(low), narrow(high)}; }

template <HalfPair (*Narrow)(float, float)>
void convert_pair_in_mode(const Op& op, Wave& wave) {
  const FloatMode mode(wave.mode);
  Lanes<float> low(op, op.source[0], wave), high(op, op.source[1], wave);
  enter_mode(mode, low);
  enter_mode(mode, high);
  alignas(64) HalfPair out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = Narrow(low.data[l], high.data[l]);
  if (mode.saturates()) {
    for (int l = 0; l < kLanes; ++l) {
      out[l].low = saturated_half(out[l].low, is_infinite(low.data[l]));
      out[l].high = saturated_half(out[l].high, is_infinite(high.data[l]));
    }
  }
  if (!mode.keeps_result_denormals<Half>()) flush_denormals(&out[0].low, 2 * kLanes);
  write_lanes(op, wave, out);
}
template <HalfPair (*Narrow)(float, float)>
constexpr Semantics converts_pair(const char* name) {
  Semantics entry = vector<Narrow>(name);
  entry.in_mode = convert_pair_in_mode<Narrow>;
  return entry.as(Arithmetic::Conversion);
}

u32 narrow_to_bfloat(float v) {
  const u32 bits = bits_of(v);
  if (is_nan(v)) return bits_of(quiet(v)) >> 16;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

u32 pack(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

u32 insert_byte(float v, u32 index, u32 into) {
  const u32 shift = 8 * (index & 3);
  const u32 byte = saturate<uint8_t>(is_nan(v) ? 0.0f : std::nearbyint(v));
  return (into & ~(0xffu << shift)) | byte << shift;
}

// ---- 8-bit floats ----

template <class F, bool Saturates>
u16 narrow_pair(float low, float high) {
  return static_cast<u16>(F::narrow(low, Saturates) | F::narrow(high, Saturates) << 8);
}
template <class F, bool Saturates>
u32 narrow_stochastically(float v, u32 random) {
  return F::narrow_stochastically(v, random, Saturates);
}

// The only field of MODE that matters is FP16_OVFL: these conversions round to nearest, and denormal singles become 0.
template <auto Saturating, auto Without>
constexpr Semantics by_overflow_mode(const char* name) {
  Semantics entry = vector<Saturating>(name);
  entry.execute = [](const Op& op, Wave& wave) {
    if (overflow_saturates(wave.mode)) execute_vector<Saturating>(op, wave);
    else execute_vector<Without>(op, wave);
  };
  entry.in_mode = entry.plain = nullptr;
  return entry;
}
template <class F>
constexpr Semantics narrows_pair(const char* name) {
  return keeps_upper_half(by_overflow_mode<narrow_pair<F, true>, narrow_pair<F, false>>(name));
}
template <class F>
constexpr Semantics narrows_stochastically(const char* name) {
  Semantics entry = by_overflow_mode<narrow_stochastically<F, true>, narrow_stochastically<F, false>>(name);
  entry.writes_byte = true;
  return entry;
}

// SDWA can select bytes 1 to 3; every other selection means byte 0.
template <class F>
void widen_byte(const Op& op, Wave& wave) {
  Operand from = op.source[0];
  if (from.select > Select::Byte3) from.select = Select::Dword;
  const Lanes<u32> source(op, from, wave);
  alignas(64) float out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = F::widen(static_cast<uint8_t>(source.data[l]));
  write_lanes(op, wave, out);
}

// WORD_1 selects the upper half, and so does BYTE_1, which the hardware reads the same way. All others select the lower half.
template <class F>
void widen_pair(const Op& op, Wave& wave) {
  Operand from = op.source[0];
  const bool upper = from.select == Select::Word1 || from.select == Select::Byte1;
  from.select = upper ? Select::Word1 : Select::Dword;
  const Lanes<u32> source(op, from, wave);
  alignas(64) float low[kLanes], high[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    low[l] = F::widen(static_cast<uint8_t>(source.data[l]));
    high[l] = F::widen(static_cast<uint8_t>(source.data[l] >> 8));
  }
  clamp_lanes(op, wave, low);
  clamp_lanes(op, wave, high);
  const uint64_t mask = write_mask(op, wave);
  u32* reg = wave.registers(op.destination);
  write_lanes32(reg, reinterpret_cast<const u32*>(low), mask);
  write_lanes32(reg + kLanes, reinterpret_cast<const u32*>(high), mask);
}

constexpr Semantics widens(const char* name, Execute execute, Type to) {
  return Semantics{name, execute, Unit::Valu, 1, to, {Type::B32}}.as(Arithmetic::Conversion);
}

// The bits of a bfloat constant are not documented.
constexpr Semantics of_bfloats(Semantics entry) {
  entry.refusal = [](const Op& op) {
    return op.source[0].kind == Operand::Kind::Constant ? "a constant of this type is not modelled" : nullptr;
  };
  return entry;
}

using enum Arithmetic;

const Semantics kTable[] = {
    vector<[](i32 v) { return static_cast<float>(v); }>("v_cvt_f32_i32").as(Conversion),
    vector<[](u32 v) { return static_cast<float>(v); }>("v_cvt_f32_u32").as(Conversion),
    vector<[](float v) { return saturate<u32>(v); }>("v_cvt_u32_f32").as(Conversion),
    vector<[](float v) { return saturate<i32>(v); }>("v_cvt_i32_f32").as(Conversion),
    vector<[](float v) { return saturate<i32>(std::floor(static_cast<double>(v) + 0.5)); }>("v_cvt_rpi_i32_f32").as(Conversion),
    vector<[](float v) { return saturate<i32>(std::floor(v)); }>("v_cvt_flr_i32_f32").as(Conversion),
    vector<[](u32 v) { return static_cast<float>(v & 0xff); }>("v_cvt_f32_ubyte0").as(Conversion),
    vector<[](u32 v) { return static_cast<float>(v >> 8 & 0xff); }>("v_cvt_f32_ubyte1").as(Conversion),
    vector<[](u32 v) { return static_cast<float>(v >> 16 & 0xff); }>("v_cvt_f32_ubyte2").as(Conversion),
    vector<[](u32 v) { return static_cast<float>(v >> 24); }>("v_cvt_f32_ubyte3").as(Conversion),
    vector<[](double v) { return saturate<i32>(v); }>("v_cvt_i32_f64").as(Conversion),
    vector<[](double v) { return saturate<u32>(v); }>("v_cvt_u32_f64").as(Conversion),
    vector<[](i32 v) { return static_cast<double>(v); }>("v_cvt_f64_i32").as(Conversion),
    vector<[](u32 v) { return static_cast<double>(v); }>("v_cvt_f64_u32").as(Conversion),
    vector<[](double v) { return settle_nan(static_cast<float>(v), static_cast<float>(v)); }>("v_cvt_f32_f64").as(Conversion),
    vector<[](float v) { return settle_nan(static_cast<double>(v), static_cast<double>(v)); }>("v_cvt_f64_f32").as(Conversion),
    with_plain_form(vector<[](float v) { return narrow(v); }>("v_cvt_f16_f32").as(Conversion), narrow_lanes),
    with_plain_form(vector<[](Half v) { return widen(v); }>("v_cvt_f32_f16").as(Conversion), widen_lanes),
    vector<[](u16 v) { return static_cast<Half>(v); }>("v_cvt_f16_u16").as(Conversion),
    vector<[](i16 v) { return static_cast<Half>(v); }>("v_cvt_f16_i16").as(Conversion),
    vector<[](Half v) { return saturate<u16>(static_cast<float>(v)); }>("v_cvt_u16_f16").as(Conversion),
    vector<[](Half v) { return saturate<i16>(static_cast<float>(v)); }>("v_cvt_i16_f16").as(Conversion),
    converts_pair<narrow_pair_toward_zero>("v_cvt_pkrtz_f16_f32"),
    converts_pair<narrow_pair_to_nearest>("v_cvt_pk_f16_f32"),
    vector<[](float a, float b) { return narrow_to_bfloat(a) | narrow_to_bfloat(b) << 16; }>("v_cvt_pk_bf16_f32")
        .as(Conversion),
    of_bfloats(vector<[](u16 v) { return from_bits<float>(u32{v} << 16); }>("v_cvt_f32_bf16").as(Conversion)),
    vector<[](float a, float b) { return pack(normalise<i16>(a), normalise<i16>(b)); }>("v_cvt_pknorm_i16_f32").as(Conversion),
    vector<[](float a, float b) { return pack(normalise<u16>(a), normalise<u16>(b)); }>("v_cvt_pknorm_u16_f32").as(Conversion),
    vector<[](Half a, Half b) { return pack(normalise<i16>(a), normalise<i16>(b)); }>("v_cvt_pknorm_i16_f16").as(Conversion),
    vector<[](Half a, Half b) { return pack(normalise<u16>(a), normalise<u16>(b)); }>("v_cvt_pknorm_u16_f16").as(Conversion),
    vector<[](Half v) { return normalise<i16>(v); }>("v_cvt_norm_i16_f16").as(Conversion),
    vector<[](Half v) { return normalise<u16>(v); }>("v_cvt_norm_u16_f16").as(Conversion),
    vector<[](u32 a, u32 b) { return pack(a > 0xffff ? 0xffff : a, b > 0xffff ? 0xffff : b); }>("v_cvt_pk_u16_u32")
        .as(Conversion),
    vector<[](i32 a, i32 b) {
      const auto clamp = [](i32 v) { return static_cast<u32>(v < -32768 ? -32768 : v > 32767 ? 32767 : v); };
      return pack(clamp(a), clamp(b));
    }>("v_cvt_pk_i16_i32")
        .as(Conversion),
    vector<[](float v, u32 index, u32 into) { return insert_byte(v, index, into); }>("v_cvt_pk_u8_f32").as(Conversion),
    accumulate<[](float v, u32 index, u32 into) { return insert_byte(v, index, into); }>("v_cvt_pkaccum_u8_f32").as(Conversion),
    // A sample's offset in sixteenths of a pixel, from -8 to 7.
    vector<[](u32 v) { return static_cast<float>(static_cast<i32>(v << 28) >> 28) / 16; }>("v_cvt_off_f32_i4").as(Conversion),

    narrows_pair<Fp8>("v_cvt_pk_fp8_f32").as(Conversion),
    narrows_pair<Bf8>("v_cvt_pk_bf8_f32").as(Conversion),
    narrows_stochastically<Fp8>("v_cvt_sr_fp8_f32").as(Conversion),
    narrows_stochastically<Bf8>("v_cvt_sr_bf8_f32").as(Conversion),
    widens("v_cvt_f32_fp8", widen_byte<Fp8>, Type::F32),
    widens("v_cvt_f32_bf8", widen_byte<Bf8>, Type::F32),
    widens("v_cvt_pk_f32_fp8", widen_pair<Fp8>, Type::F64),
    widens("v_cvt_pk_f32_bf8", widen_pair<Bf8>, Type::F64),
};

// For targets whose 8-bit floats are OCP floats.
const Semantics kOcpTable[] = {
    narrows_pair<OcpFp8>("v_cvt_pk_fp8_f32").as(Conversion),
    narrows_pair<OcpBf8>("v_cvt_pk_bf8_f32").as(Conversion),
    narrows_stochastically<OcpFp8>("v_cvt_sr_fp8_f32").as(Conversion),
    narrows_stochastically<OcpBf8>("v_cvt_sr_bf8_f32").as(Conversion),
    widens("v_cvt_f32_fp8", widen_byte<OcpFp8>, Type::F32),
    widens("v_cvt_f32_bf8", widen_byte<OcpBf8>, Type::F32),
    widens("v_cvt_pk_f32_fp8", widen_pair<OcpFp8>, Type::F64),
    widens("v_cvt_pk_f32_bf8", widen_pair<OcpBf8>, Type::F64),
};

}  // namespace

std::span<const Semantics> vector_conversion_semantics() { return kTable; }
std::span<const Semantics> ocp_conversion_semantics() { return kOcpTable; }

}  // namespace rpd
