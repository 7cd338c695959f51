// gfx950's conversions to and from 8-, 6- and 4-bit floats that share a scale. The scale is a power of two, given by the
// exponent field of a single. Follows AMD's pseudo-code for CDNA 4. Conversions with stochastic rounding are missing, because
// the pseudo-code does not say which random bits they use.
#include <cmath>
#include <limits>

#include "exec/lane_function.h"
#include "exec/ocp_float.h"
#include "exec/packed_elements.h"

namespace rpd {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

struct BFloat {};

double power_of(u32 scale) {
  const int exponent = static_cast<int>(scale >> 23 & 0xff);
  return exponent == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, exponent - 127);
}

// ---- 16-bit and 32-bit numbers ----

template <class T>
constexpr int kBits = std::is_same_v<T, float> ? 32 : 16;

template <class T>
double value_of(u32 bits) {
  if constexpr (std::is_same_v<T, float>) return static_cast<double>(from_bits<float>(bits));
  else if constexpr (std::is_same_v<T, Half>) return static_cast<double>(from_bits<Half>(static_cast<u16>(bits)));
  else return static_cast<double>(from_bits<float>(bits << 16));
}

template <class T>
u32 bits_from(double value) {
  if constexpr (std::is_same_v<T, Half>) return bits_of(std::isnan(value) ? default_nan<Half>() : to_half(value));
  if (std::isnan(value)) return bits_of(default_nan<float>()) >> (32 - kBits<T>);
  if constexpr (std::is_same_v<T, float>) return bits_of(static_cast<float>(value));
  // The value is a product of a small float and a power of two, which a single holds exactly.
  const u32 bits = bits_of(static_cast<float>(value));
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// ---- runs of elements of equal width in a lane's registers ----

void add_element(u32* registers, int lane, int bits, int index, u32 element) {
  const int first = bits * index, reg = first / 32, shift = first % 32;
  const u64 words = static_cast<u64>(element) << shift;
  registers[reg * kLanes + lane] |= static_cast<u32>(words);
  if (shift + bits > 32) registers[(reg + 1) * kLanes + lane] |= static_cast<u32>(words >> 32);
}

template <int Registers>
void write_registers(const Op& op, Wave& wave, const u32 (&values)[Registers * kLanes]) {
  u32* to = wave.registers(op.destination);
  for (int i = 0; i < Registers; ++i) write_lanes32(to + i * kLanes, values + i * kLanes, wave.exec());
}

// ---- from small floats ----

// Converts one or two elements of a register. OP_SEL says where they begin, in units of their total size.
template <class F, class To, int Count>
void widen(const Op& op, Wave& wave) {
  constexpr int bits = F::kBits, unit = bits * Count, places = 32 / unit < 4 ? 32 / unit : 4;
  const Lanes<u32> source(op, op.source[0], wave), scale(op, op.source[1], wave);
  const int first = op.packed_low % places * unit;
  alignas(64) u32 out[kBits<To> == 32 ? Count * kLanes : kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < Count; ++i)
      add_element(out, l, kBits<To>, i,
                  bits_from<To>(F::widen(source.data[l] >> (first + bits * i)) * power_of(scale.data[l])));
  }
  write_registers<sizeof out / sizeof(u32) / kLanes>(op, wave, out);
}

// Converts to the half of a register that the third bit of OP_SEL selects.
template <class F>
void widen_to_half(const Op& op, Wave& wave) {
  const Lanes<u32> source(op, op.source[0], wave), scale(op, op.source[1], wave);
  const int first = op.packed_low % 4 * 8, shift = op.packed_low & 4 ? 16 : 0;
  const u32* old = wave.registers(op.destination);
  alignas(64) u32 out[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const u32 half = bits_from<Half>(F::widen(source.data[l] >> first) * power_of(scale.data[l]));
    out[l] = (old[l] & ~(0xffffu << shift)) | half << shift;
  }
  write_registers<1>(op, wave, out);
}

template <class F, class To>
void widen_many(const Op& op, Wave& wave) {
  constexpr int count = 32;
  const u32* from = wave.registers(op.source[0]);
  const Lanes<u32> scale(op, op.source[1], wave);
  alignas(64) u32 out[kBits<To> * kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < count; ++i)
      add_element(out, l, kBits<To>, i,
                  bits_from<To>(F::widen(packed_element(from, l, F::kBits, i)) * power_of(scale.data[l])));
  }
  write_registers<kBits<To>>(op, wave, out);
}

// ---- to small floats ----

// Where in the destination the two results go: the last bit of OP_SEL decides, or the last two for 4-bit floats.
template <class F, class From>
int destination_shift(const Op& op) {
  if constexpr (F::kBits == 4) return (op.packed_low >> 2 & 3) * 8;
  return op.packed_low >> (std::is_same_v<From, float> ? 3 : 2) & 1 ? 16 : 0;
}

// The two operands are in two registers if they are singles, and otherwise in the halves of one register.
template <class F, class From>
void narrow(const Op& op, Wave& wave) {
  constexpr bool singles = std::is_same_v<From, float>;
  const Lanes<u32> first(op, op.source[0], wave), second(op, op.source[singles ? 1 : 0], wave);
  const Lanes<u32> scale(op, op.source[singles ? 2 : 1], wave);
  const bool saturates = overflow_saturates(wave.mode);
  const int shift = destination_shift<F, From>(op);
  const u32 mask = ((1u << 2 * F::kBits) - 1) << shift;
  const u32* old = wave.registers(op.destination);
  alignas(64) u32 out[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const double power = power_of(scale.data[l]);
    const u32 low = F::narrow(value_of<From>(first.data[l]) / power, saturates);
    const u32 high = F::narrow(value_of<From>(second.data[l] >> (singles ? 0 : 16)) / power, saturates);
    out[l] = (old[l] & ~mask) | (low | high << F::kBits) << shift;
  }
  write_registers<1>(op, wave, out);
}

template <class F, class From>
void narrow_many(const Op& op, Wave& wave) {
  constexpr int count = 32;
  const u32* from = wave.registers(op.source[0]);
  const Lanes<u32> scale(op, op.source[1], wave);
  alignas(64) u32 out[F::kBits * kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    const double power = power_of(scale.data[l]);
    for (int i = 0; i < count; ++i) {
      const double value = value_of<From>(packed_element(from, l, kBits<From>, i));
      add_element(out, l, F::kBits, i, F::narrow(value / power, true));
    }
  }
  write_registers<F::kBits>(op, wave, out);
}

// Interleaves the elements of the two sources.
template <class F>
void narrow_two(const Op& op, Wave& wave) {
  constexpr int count = 16;
  const u32 *first = wave.registers(op.source[0]), *second = wave.registers(op.source[1]);
  const Lanes<u32> scale(op, op.source[2], wave);
  alignas(64) u32 out[F::kBits * kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    const double power = power_of(scale.data[l]);
    for (int i = 0; i < count; ++i) {
      add_element(out, l, F::kBits, 2 * i, F::narrow(value_of<float>(first[i * kLanes + l]) / power, true));
      add_element(out, l, F::kBits, 2 * i + 1, F::narrow(value_of<float>(second[i * kLanes + l]) / power, true));
    }
  }
  write_registers<F::kBits>(op, wave, out);
}

// ---- the table ----

// Sign modifiers on a pair, or on many elements, are not modelled, because it is not documented which elements they would
// affect.
const char* refuse_signs(const Op& op) {
  const Operand& source = op.source[0];
  return source.negate || source.absolute ? "sign modifiers on several elements are not modelled" : nullptr;
}
// Operands with many elements must be in registers.
const char* refuse_others(const Op& op) {
  return is_vector(op.source[0]) ? refuse_signs(op) : "operands that are not registers are not modelled";
}

constexpr Semantics scaled(const char* name, Execute execute, int sources, const char* (*refusal)(const Op&)) {
  Semantics entry{name, execute, Unit::Valu, 1, Type::B32, {Type::B32}};
  for (int i = 1; i < sources; ++i) entry.source_types[i] = Type::F32;
  entry.packed = true;
  entry.default_packed_high = 0;
  entry.refusal = refusal;
  return entry.as(Arithmetic::Conversion);
}
constexpr Semantics of_singles(const char* name, Execute execute) {
  Semantics entry = scaled(name, execute, 3, nullptr);
  entry.source_types[0] = Type::F32;
  return entry;
}

#define SCALED(NAME) "v_cvt_scalef32_" NAME
#define WIDENING(NAME, F, COUNT)                                              \
  scaled(SCALED("pk_f32_" NAME), widen<F, float, COUNT>, 2, refuse_signs),    \
      scaled(SCALED("pk_f16_" NAME), widen<F, Half, COUNT>, 2, refuse_signs), \
      scaled(SCALED("pk_bf16_" NAME), widen<F, BFloat, COUNT>, 2, refuse_signs)
#define NARROWING(NAME, F)                                                  \
  of_singles(SCALED("pk_" NAME "_f32"), narrow<F, float>),                  \
      scaled(SCALED("pk_" NAME "_f16"), narrow<F, Half>, 2, refuse_others), \
      scaled(SCALED("pk_" NAME "_bf16"), narrow<F, BFloat>, 2, refuse_others)
#define OF_BYTES(NAME, F)                                           \
  scaled(SCALED("f32_" NAME), widen<F, float, 1>, 2, refuse_signs), \
      scaled(SCALED("f16_" NAME), widen_to_half<F>, 2, refuse_signs)
#define OF_MANY(NAME, F)                                                              \
  scaled(SCALED("pk32_f32_" NAME), widen_many<F, float>, 2, refuse_others),           \
      scaled(SCALED("pk32_f16_" NAME), widen_many<F, Half>, 2, refuse_others),        \
      scaled(SCALED("pk32_bf16_" NAME), widen_many<F, BFloat>, 2, refuse_others),     \
      scaled(SCALED("pk32_" NAME "_f16"), narrow_many<F, Half>, 2, refuse_others),    \
      scaled(SCALED("pk32_" NAME "_bf16"), narrow_many<F, BFloat>, 2, refuse_others), \
      scaled(SCALED("2xpk16_" NAME "_f32"), narrow_two<F>, 3, refuse_others)

const Semantics kTable[] = {
    OF_BYTES("fp8", OcpFp8),    OF_BYTES("bf8", OcpBf8),  WIDENING("fp8", OcpFp8, 2), WIDENING("bf8", OcpBf8, 2),
    WIDENING("fp4", OcpFp4, 2), NARROWING("fp8", OcpFp8), NARROWING("bf8", OcpBf8),   NARROWING("fp4", OcpFp4),
    OF_MANY("fp6", OcpFp6),     OF_MANY("bf6", OcpBf6),
};

}  // namespace

std::span<const Semantics> vector_scaled_semantics() { return kTable; }

}  // namespace rpd
