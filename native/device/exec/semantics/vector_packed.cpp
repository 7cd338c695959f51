// VOP3P: two results at once; op_sel (low result) and op_sel_hi (high result) pick a half of each source.
#include <algorithm>
#include <cmath>

#include "exec/floating_point.h"
#include "exec/half_precision_lanes.h"
#include "exec/lane_function.h"

namespace rpd {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using u64 = uint64_t;

// One source of a packed instruction: 64 lanes with two elements each (the halves of a register, or a pair of registers).
template <class T>
struct PackedSource {
  alignas(64) T low[kLanes];
  alignas(64) T high[kLanes];

  PackedSource(const Op& op, int index, const Wave& wave) {
    const Operand& operand = op.source[index];
    const bool low_from_high = op.packed_low >> index & 1;
    const bool high_from_high = op.packed_high >> index & 1;
    fill(operand, wave, low_from_high, op.negate_low >> index & 1, low);
    fill(operand, wave, high_from_high, op.negate_high >> index & 1, high);
  }

  void enter(const FloatMode& mode) {
    if constexpr (is_float<T>) {
      if (mode.keeps_operand_denormals<T>()) return;
      flush_denormals(low);
      flush_denormals(high);
    }
  }

 private:
  static void fill(const Operand& operand, const Wave& wave, bool from_high, bool negate, T* out) {
    using B = Bits<sizeof(T)>;
    auto* bits = reinterpret_cast<B*>(out);
    if (is_vector(operand)) {
      const u32* reg = wave.registers(operand);
      if constexpr (sizeof(T) == 4) {
        std::memcpy(bits, reg + (from_high ? kLanes : 0), kLanes * sizeof(u32));
      } else {
        for (int l = 0; l < kLanes; ++l) bits[l] = static_cast<B>(reg[l] >> (from_high ? 16 : 0));
      }
    } else {
      using Whole = Bits<2 * sizeof(T)>;
      const Whole value = read_scalar<Whole>(operand, wave);
      for (int l = 0; l < kLanes; ++l) bits[l] = static_cast<B>(value >> (from_high ? 8 * sizeof(T) : 0));
    }
    if (!negate) return;
    for (int l = 0; l < kLanes; ++l) bits[l] ^= static_cast<B>(B{1} << (8 * sizeof(T) - 1));
  }
};

template <class R>
void write_packed(const Op& op, Wave& wave, R* low, R* high) {
  clamp_lanes(op, wave, low);
  clamp_lanes(op, wave, high);
  u32* reg = wave.registers(op.destination);
  if constexpr (sizeof(R) == 4) {
    write_lanes32(reg, reinterpret_cast<u32*>(low), wave.exec());
    write_lanes32(reg + kLanes, reinterpret_cast<u32*>(high), wave.exec());
  } else {
    alignas(64) u32 both[kLanes];
    for (int l = 0; l < kLanes; ++l) both[l] = std::bit_cast<u16>(low[l]) | u32{std::bit_cast<u16>(high[l])} << 16;
    write_lanes32(reg, both, wave.exec());
  }
}

template <auto F, class... T>
void apply_packed(const Op& op, Wave& wave, const PackedSource<T>&... sources) {
  using R = typename SignatureOf<F>::Result;
  alignas(64) R low[kLanes];
  alignas(64) R high[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    low[l] = F(sources.low[l]...);
    high[l] = F(sources.high[l]...);
  }
  write_packed(op, wave, low, high);
}

template <auto F, size_t... I>
void run_packed(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using Arguments = typename SignatureOf<F>::Arguments;
  apply_packed<F>(op, wave, PackedSource<std::tuple_element_t<I, Arguments>>(op, I, wave)...);
}

// See apply_lanes_in_mode.
template <auto F, class... T>
void apply_packed_in_mode(const Op& op, Wave& wave, PackedSource<T>&&... sources) {
  using R = typename SignatureOf<F>::Result;
  const FloatMode mode(wave.mode);
  (sources.enter(mode), ...);
  alignas(64) R low[kLanes];
  alignas(64) R high[kLanes];
  compute_rounded<F>(op, mode, low, sources.low...);
  compute_rounded<F>(op, mode, high, sources.high...);
  saturate_results(op, mode, low, sources.low...);
  saturate_results(op, mode, high, sources.high...);
  flush_results(mode, low);
  flush_results(mode, high);
  write_packed(op, wave, low, high);
}

template <auto F, size_t... I>
void run_packed_in_mode(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using Arguments = typename SignatureOf<F>::Arguments;
  apply_packed_in_mode<F>(op, wave, PackedSource<std::tuple_element_t<I, Arguments>>(op, I, wave)...);
}

template <auto F>
void execute_packed_in_mode(const Op& op, Wave& wave) {
  run_packed_in_mode<F>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

template <auto F>
void execute_packed(const Op& op, Wave& wave) {
  run_packed<F>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

// ---- the plain form for singles ----

// Where the two values of a source are stored.
struct PairOfWords {
  SourceWords low, high;

  PairOfWords(const Op& op, int index, const Wave& wave, OperandCopy& copy)
      : low(words_of<u64>(op.source[index], wave, copy)), high(low) {
    low.words += op.packed_low >> index & 1 ? kLanes : 0;
    high.words += op.packed_high >> index & 1 ? kLanes : 0;
  }
};

// Computes both results before writing either, because the low result may overwrite an operand of the high one.
template <auto F, bool All, class... Pair>
void compute_pairs(u32* reg, u64 exec, const Pair&... sources) {
  const auto settled = []<class... T>(const Chunk<T>&... source) {
    Chunk<float> out = compute_chunk<F, float>(source...);
    if (any_nan(out)) [[unlikely]] {
      for (int l = 0; l < kChunk; ++l) out.lane[l] = settle_nan(out.lane[l], source.lane[l]...);
    }
    return out;
  };
  for (int l = 0; l < kLanes; l += kChunk) {
    const Chunk<float> low = settled(load_chunk<float, false>(sources.low.at(l))...);
    const Chunk<float> high = settled(load_chunk<float, false>(sources.high.at(l))...);
    store_chunk<false, All>(reg + l, low, exec >> l);
    store_chunk<false, All>(reg + kLanes + l, high, exec >> l);
  }
}

template <auto F, size_t... I>
void run_plain_packed(const Op& op, Wave& wave, std::index_sequence<I...>) {
  OperandCopy copies[sizeof...(I)];
  const u64 exec = wave.exec();
  u32* reg = wave.registers(op.destination);
  if (exec == ~u64{0}) compute_pairs<F, true>(reg, exec, PairOfWords(op, I, wave, copies[I])...);
  else compute_pairs<F, false>(reg, exec, PairOfWords(op, I, wave, copies[I])...);
}

template <auto F>
void execute_plain_packed(const Op& op, Wave& wave) {
  run_plain_packed<F>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

// A source's type decides what an inline constant means: a half, or a single in each register of a pair.
template <class T>
constexpr Type packed_type() {
  if constexpr (sizeof(T) == 4) return Type::F32;
  return std::is_same_v<T, Half> ? Type::PackedF16 : Type::B32;
}

template <auto F>
constexpr Semantics packed(const char* name) {
  using S = SignatureOf<F>;
  using R = typename S::Result;
  Semantics entry{name, execute_packed<F>, Unit::Valu, 1, sizeof(R) == 4 ? Type::F64 : packed_type<R>()};
  for (size_t i = 0; i < S::count; ++i) entry.source_types[i] = packed_type<R>();
  entry.packed = true;
  entry.in_mode = if_of_floats<F>(execute_packed_in_mode<F>);
  return entry;
}

// Arithmetic on singles; F does not apply the NaN rule itself.
template <auto F>
constexpr Semantics packed_arithmetic(const char* name) {
  Semantics entry = packed<SettlesNans<F>::value>(name);
  entry.plain = execute_plain_packed<F>;
  return entry;
}

// ---- the plain form for halves, which are computed as singles ----

// Whether the lower half of the result is computed from all sources' lower halves, and the upper half from their upper halves.
bool keeps_halves_apart(const Op& op, size_t sources) {
  const uint32_t all = (1u << sources) - 1;
  return (op.packed_low & all) == 0 && (op.packed_high & all) == all;
}

template <class OfSingles, auto OfHalves, size_t... I>
void run_plain_halves(const Op& op, Wave& wave, std::index_sequence<I...>) {
  OperandCopy copies[sizeof...(I)];
  const SourceWords from[] = {words_of<u32>(op.source[I], wave, copies[I])...};
  u32* const reg = wave.registers(op.destination);
  const auto shift = [](uint8_t high, size_t source) { return high >> source & 1 ? 16 : 0; };
  const bool apart = keeps_halves_apart(op, sizeof...(I));
  for (int l = 0; l < kLanes; l += kChunk) {
    Words halves;
    if (apart) {
      halves = compute_both_halves<OfSingles, OfHalves>(load_words(from[I].at(l))...);
    } else {
      const Words low = compute_halves<OfSingles, OfHalves>(Words(load_words(from[I].at(l)) >> shift(op.packed_low, I))...);
      const Words high = compute_halves<OfSingles, OfHalves>(Words(load_words(from[I].at(l)) >> shift(op.packed_high, I))...);
      halves = low | high << 16;
    }
    store_words(reg + l, halves, wave.exec() >> l);
  }
}

template <class OfSingles, auto OfHalves>
void execute_plain_halves(const Op& op, Wave& wave) {
  run_plain_halves<OfSingles, OfHalves>(op, wave, std::make_index_sequence<SignatureOf<OfHalves>::count>());
}

template <class OfSingles, auto OfHalves>
constexpr Semantics packed_halves(const char* name) {
  Semantics entry = packed<OfHalves>(name);
  entry.plain = execute_plain_halves<OfSingles, OfHalves>;
  return entry;
}

// For instructions that also read the destination, as their last source. They are encoded like unpacked instructions, with
// modifiers that other packed instructions lack; what these modifiers do to two halves is not documented.
const char* refuse_modified(const Op& op) {
  bool modified =
      op.permutation || op.destination_select != Select::Dword || op.packed_low || op.output_modifier != OutputModifier::None;
  for (const Operand& source : op.source) modified |= source.modified();
  return modified ? "modifiers of this packed instruction are not modelled" : nullptr;
}
template <auto F>
constexpr Semantics packed_accumulate(const char* name) {
  Semantics entry = packed<F>(name);
  entry.accumulates = true;
  entry.refusal = refuse_modified;
  return entry;
}

// Minimum and maximum: see by_ieee.
template <auto WithIeee, auto Without>
constexpr Semantics packed_by_ieee(const char* name) {
  Semantics entry = packed<WithIeee>(name);
  entry.execute = [](const Op& op, Wave& wave) {
    if (wave.mode & kModeIeee) execute_packed<WithIeee>(op, wave);
    else execute_packed<Without>(op, wave);
  };
  entry.in_mode = [](const Op& op, Wave& wave) {
    if (wave.mode & kModeIeee) execute_packed_in_mode<WithIeee>(op, wave);
    else execute_packed_in_mode<Without>(op, wave);
  };
  return entry;
}

// Integer clamp: see saturates.
template <auto Wrapping, auto Saturating>
constexpr Semantics packed_saturates(const char* name) {
  Semantics entry = packed<Wrapping>(name);
  entry.execute = [](const Op& op, Wave& wave) {
    if (op.clamp) execute_packed<Saturating>(op, wave);
    else execute_packed<Wrapping>(op, wave);
  };
  entry.saturates = true;
  return entry;
}

Half fused(Half a, Half b, Half c) {
  return settle_nan(to_half(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c)), a, b, c);
}
float fused(float a, float b, float c) { return settle_nan(std::fma(a, b, c), a, b, c); }
template <class T>
T add(T a, T b) {
  return settle_nan(static_cast<T>(a + b), a, b);
}
template <class T>
T multiply(T a, T b) {
  return settle_nan(static_cast<T>(a * b), a, b);
}

// V_PK_MOV_B32: op_sel picks the low result from S0 and the high result from S1.
void packed_move(const Op& op, Wave& wave) {
  const PackedSource<u32> s0(op, 0, wave);
  const PackedSource<u32> s1(op, 1, wave);
  alignas(64) u32 low[kLanes];
  alignas(64) u32 high[kLanes];
  std::memcpy(low, s0.low, sizeof low);
  std::memcpy(high, s1.low, sizeof high);
  write_lanes32(wave.registers(op.destination), low, wave.exec());
  write_lanes32(wave.registers(op.destination) + kLanes, high, wave.exec());
}

// Mixed precision: op_sel_hi marks a source as a half, and op_sel selects the half of the register that holds it.
struct MixedSource {
  alignas(64) float value[kLanes];

  MixedSource(const Op& op, int index, const Wave& wave, const FloatMode& mode) {
    const Operand& operand = op.source[index];
    const Lanes<u32> raw(op, plain(operand), wave);
    if (op.packed_high >> index & 1) widen(raw.data, op.packed_low >> index & 1 ? 16 : 0, mode);
    else copy(raw.data, mode);
    for (int l = 0; l < kLanes; ++l) {
      if (operand.absolute || op.negate_high >> index & 1) value[l] = std::fabs(value[l]);
      if (operand.negate || op.negate_low >> index & 1) value[l] = -value[l];
    }
  }

 private:
  static Operand plain(Operand operand) {
    operand.negate = operand.absolute = false;
    return operand;
  }
  void widen(const u32* raw, unsigned shift, const FloatMode& mode) {
    alignas(64) Half half[kLanes];
    for (int l = 0; l < kLanes; ++l) half[l] = std::bit_cast<Half>(static_cast<u16>(raw[l] >> shift));
    if (!mode.keeps_operand_denormals<Half>()) flush_denormals(half);
    for (int l = 0; l < kLanes; ++l) value[l] = static_cast<float>(half[l]);
  }
  void copy(const u32* raw, const FloatMode& mode) {
    std::memcpy(value, raw, sizeof value);
    if (!mode.keeps_operand_denormals<float>()) flush_denormals(value);
  }
};

enum class MixTo { Single, LowHalf, HighHalf };

// Rounds a mixed result a second time, to a half.
void narrow(const FloatMode& mode, const float* singles, Half* halves) {
  {
    const HostRounding rounding(mode.rounding<Half>());
    for (int l = 0; l < kLanes; ++l) halves[l] = static_cast<Half>(singles[l]);
    force_computed(halves);
  }
  if (mode.saturates()) {
    for (int l = 0; l < kLanes; ++l) halves[l] = saturated_half(halves[l], is_infinite(singles[l]));
  }
  if (!mode.keeps_result_denormals<Half>()) flush_denormals(halves);
}

void fuse(const Op& op, Wave& wave, const FloatMode& mode, float* results) {
  const MixedSource a(op, 0, wave, mode);
  const MixedSource b(op, 1, wave, mode);
  const MixedSource c(op, 2, wave, mode);
  {
    const HostRounding rounding(mode.rounding<float>());
    for (int l = 0; l < kLanes; ++l) results[l] = fused(a.value[l], b.value[l], c.value[l]);
    force_computed(results);
  }
  if (!mode.keeps_result_denormals<float>()) flush_denormals(results);
  clamp_lanes(op, wave, results);
}

template <MixTo To>
void fused_mix(const Op& op, Wave& wave) {
  const FloatMode mode(wave.mode);
  alignas(64) float results[kLanes];
  fuse(op, wave, mode, results);
  u32* reg = wave.registers(op.destination);
  alignas(64) u32 out[kLanes];
  if constexpr (To == MixTo::Single) {
    std::memcpy(out, results, sizeof out);
  } else {
    constexpr unsigned shift = To == MixTo::LowHalf ? 0 : 16;
    alignas(64) Half halves[kLanes];
    narrow(mode, results, halves);
    for (int l = 0; l < kLanes; ++l) out[l] = (reg[l] & ~(0xffffu << shift)) | u32{bits_of(halves[l])} << shift;
  }
  write_lanes32(reg, out, wave.exec());
}

constexpr Semantics mixed(const char* name, Execute execute) {
  Semantics entry{name, execute, Unit::Valu, 1, Type::F32, {Type::F32, Type::F32, Type::F32}};
  entry.packed = true;
  entry.mixes_precisions = true;
  entry.default_packed_high = 0;
  return entry;
}

// D = S0.low*S1.low + S0.high*S1.high + S2 in single precision.
float dot_halves(u32 a, u32 b, float c) {
  const auto half = [](u32 v, int shift) { return static_cast<float>(std::bit_cast<Half>(static_cast<u16>(v >> shift))); };
  return half(a, 16) * half(b, 16) + (half(a, 0) * half(b, 0) + c);
}

// The same for bfloats, rounded where AMD's pseudo-code rounds (the products are exact). C is either the last term of the sum
// or the first.
float bfloat_of(u32 v, int shift) { return from_bits<float>(v >> shift << 16); }
float dot_bfloats(u32 a, u32 b, float c) { return bfloat_of(a, 0) * bfloat_of(b, 0) + bfloat_of(a, 16) * bfloat_of(b, 16) + c; }
float add_dot_of_bfloats(u32 a, u32 b, float c) {
  return c + bfloat_of(a, 0) * bfloat_of(b, 0) + bfloat_of(a, 16) * bfloat_of(b, 16);
}
constexpr Semantics dot_of_bfloats(Semantics entry) {
  entry.plain = nullptr;
  // The bits of a bfloat constant are not documented.
  entry.refusal = [](const Op& op) {
    const bool constant = op.source[0].kind == Operand::Kind::Constant || op.source[1].kind == Operand::Kind::Constant;
    return constant ? "a constant of this type is not modelled" : nullptr;
  };
  return entry;
}

// A dot product of two pairs of halves. There is no plain form, because which NaN it would return depends on how the compiler
// orders the operands.
constexpr Semantics dot_of_halves(Semantics entry) {
  entry.source_types[0] = entry.source_types[1] = Type::PackedF16;
  entry.plain = nullptr;
  return entry;
}

using enum Arithmetic;

const Semantics kTable[] = {
    packed_arithmetic<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_pk_fma_f32")
        .as(MultiplyAdd, Precision::F32),
    packed_arithmetic<[](float a, float b) { return a * b; }>("v_pk_mul_f32").as(Multiply, Precision::F32),
    packed_arithmetic<[](float a, float b) { return a + b; }>("v_pk_add_f32").as(Add, Precision::F32),
    {.mnemonic = "v_pk_mov_b32",
     .execute = packed_move,
     .destination_type = Type::B64,
     .source_types = {Type::B32, Type::B32},
     .packed = true},
    packed_halves<FusedHalves, [](Half a, Half b, Half c) { return fused(a, b, c); }>("v_pk_fma_f16").as(MultiplyAdd),
    packed_accumulate<[](Half a, Half b, Half c) { return fused(a, b, c); }>("v_pk_fmac_f16").as(MultiplyAdd),
    packed_halves<RoundedTwice<[](float a, float b) { return a + b; }>, [](Half a, Half b) { return add(a, b); }>(
        "v_pk_add_f16")
        .as(Add),
    packed_halves<RoundedTwice<[](float a, float b) { return a * b; }>, [](Half a, Half b) { return multiply(a, b); }>(
        "v_pk_mul_f16")
        .as(Multiply),
    packed_by_ieee<minimum<Half, true>, minimum<Half, false>>("v_pk_min_f16"),
    packed_by_ieee<maximum<Half, true>, maximum<Half, false>>("v_pk_max_f16"),
    packed<nan_propagating_minimum3<Half>>("v_pk_minimum3_f16"),
    packed<nan_propagating_maximum3<Half>>("v_pk_maximum3_f16"),
    packed_saturates<[](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); },
                     [](u16 a, u16 b, u16 c) { return saturated<u16>(int64_t{a} * b + c); }>("v_pk_mad_u16"),
    packed_saturates<[](i16 a, i16 b, i16 c) { return static_cast<i16>(i16{a} * b + c); },
                     [](i16 a, i16 b, i16 c) { return saturated<i16>(int64_t{a} * b + c); }>("v_pk_mad_i16"),
    packed_saturates<[](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); },
                     [](u16 a, u16 b) { return saturated<u16>(int64_t{a} * b); }>("v_pk_mul_lo_u16"),
    packed_saturates<[](u16 a, u16 b) { return static_cast<u16>(a + b); }, [](u16 a, u16 b) { return saturated<u16>(a + b); }>(
        "v_pk_add_u16"),
    packed_saturates<[](u16 a, u16 b) { return static_cast<u16>(a - b); }, [](u16 a, u16 b) { return saturated<u16>(a - b); }>(
        "v_pk_sub_u16"),
    packed_saturates<[](i16 a, i16 b) { return static_cast<i16>(a + b); }, [](i16 a, i16 b) { return saturated<i16>(a + b); }>(
        "v_pk_add_i16"),
    packed_saturates<[](i16 a, i16 b) { return static_cast<i16>(a - b); }, [](i16 a, i16 b) { return saturated<i16>(a - b); }>(
        "v_pk_sub_i16"),
    packed<[](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }>("v_pk_lshlrev_b16"),
    packed<[](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }>("v_pk_lshrrev_b16"),
    packed<[](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }>("v_pk_ashrrev_i16"),
    packed<[](u16 a, u16 b) { return std::max(a, b); }>("v_pk_max_u16"),
    packed<[](u16 a, u16 b) { return std::min(a, b); }>("v_pk_min_u16"),
    packed<[](i16 a, i16 b) { return std::max(a, b); }>("v_pk_max_i16"),
    packed<[](i16 a, i16 b) { return std::min(a, b); }>("v_pk_min_i16"),
    mixed("v_fma_mix_f32", fused_mix<MixTo::Single>),
    mixed("v_fma_mixlo_f16", fused_mix<MixTo::LowHalf>),
    mixed("v_fma_mixhi_f16", fused_mix<MixTo::HighHalf>),
    mixed("v_mad_mix_f32", fused_mix<MixTo::Single>),
    mixed("v_mad_mixlo_f16", fused_mix<MixTo::LowHalf>),
    mixed("v_mad_mixhi_f16", fused_mix<MixTo::HighHalf>),
    dot_of_halves(vector<[](u32 a, u32 b, float c) { return dot_halves(a, b, c); }>("v_dot2_f32_f16")),
    dot_of_halves(accumulate<[](u32 a, u32 b, float c) { return dot_halves(a, b, c); }>("v_dot2c_f32_f16")),
    dot_of_bfloats(vector<dot_bfloats>("v_dot2_f32_bf16")),
    dot_of_bfloats(accumulate<add_dot_of_bfloats>("v_dot2c_f32_bf16")),
};

}  // namespace

std::span<const Semantics> vector_packed_semantics() { return kTable; }

}  // namespace rpd
