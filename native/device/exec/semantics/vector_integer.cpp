// Integer and bitwise vector arithmetic. Follows AMD's pseudo-code for CDNA3.
#include <algorithm>
#include <bit>

#include "exec/lane_function.h"

namespace rpd {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

u32 low24(u32 v) { return v & 0xffffff; }
i32 low24_signed(u32 v) { return static_cast<i32>(v << 8) >> 8; }

u32 extract_unsigned(u32 value, u32 offset, u32 width) {
  width &= 31;
  return width == 0 ? 0 : value >> (offset & 31) & ((1u << width) - 1);
}
i32 extract_signed(i32 value, u32 offset, u32 width) {
  width &= 31;
  if (width == 0) return 0;
  const u32 shifted = static_cast<u32>(value >> (offset & 31));
  return static_cast<i32>(shifted << (32 - width)) >> (32 - width);
}

// The plain form of v_lshl_add_u64, by which compilers compute addresses. Working on the lower and upper words separately is
// faster than putting them together.
template <bool All>
void shift_and_add_words(u32* to, u64 exec, const SourceWords& a, const SourceWords& b, const SourceWords& c) {
  const auto store = [](u32* destination, const Words& words, u64 mask) {
    if constexpr (All) std::memcpy(destination, &words, sizeof words);
    else store_words(destination, words, mask);
  };
#pragma GCC unroll 4
  for (int l = 0; l < kLanes; l += kChunk) {
    const Words shift = load_words(b.at(l)) & 7;
    const Words a_low = load_words(a.at(l)), a_high = load_words(a.at(l) + kLanes);
    const Words c_low = load_words(c.at(l)), c_high = load_words(c.at(l) + kLanes);
    const Words low = (a_low << shift) + c_low;
    const Words carry = low < c_low ? Words{} + 1 : Words{};
    const Words shifted_out = (a_low >> 1) >> (31 - shift);
    store(to + l, low, exec >> l);
    store(to + kLanes + l, (a_high << shift | shifted_out) + c_high + carry, exec >> l);
  }
}
void shift_and_add(const Op& op, Wave& wave) {
  OperandCopy copies[3];
  const SourceWords a = words_of<u64>(op.source[0], wave, copies[0]), b = words_of<u32>(op.source[1], wave, copies[1]),
                    c = words_of<u64>(op.source[2], wave, copies[2]);
  u32* const to = wave.registers(op.destination);
  const u64 exec = wave.exec();
  if (exec == ~u64{0}) [[likely]]
    shift_and_add_words<true>(to, exec, a, b, c);
  else shift_and_add_words<false>(to, exec, a, b, c);
}

// Bit 4a + 2b + c of the instruction's table is the result for bits a, b and c.
template <class T>
void look_up_bits(const Op& op, Wave& wave) {
  const Lanes<T> a(op, op.source[0], wave), b(op, op.source[1], wave), c(op, op.source[2], wave);
  alignas(64) T out[kLanes] = {};
  for (u32 entry = 0; entry < 8; ++entry) {
    if (!(op.immediate >> entry & 1)) continue;
    const T not_a = entry & 4 ? 0 : T(~T{0}), not_b = entry & 2 ? 0 : T(~T{0}), not_c = entry & 1 ? 0 : T(~T{0});
    for (int l = 0; l < kLanes; ++l) out[l] |= static_cast<T>((a.data[l] ^ not_a) & (b.data[l] ^ not_b) & (c.data[l] ^ not_c));
  }
  write_lanes(op, wave, out);
}
template <class T>
constexpr Semantics looks_up_bits(const char* name) {
  constexpr Type type = type_of<T>();
  Semantics entry{name, look_up_bits<T>, Unit::Valu, 1, type, {type, type, type}};
  entry.needs_truth_table = true;
  return entry;
}

// Shifts two numbers and saturates each to 8 bits.
template <class T>
u16 shift_pair(i32 a, i32 b, u32 by) {
  const auto limited = [by](i32 v) { return static_cast<uint8_t>(saturated<T>(v >> (by & 31))); };
  return static_cast<u16>(limited(a) | limited(b) << 8);
}

template <class T>
T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

u32 reverse_bits(u32 v) {
  u32 out = 0;
  for (int i = 0; i < 32; ++i) out |= (v >> i & 1) << (31 - i);
  return out;
}

u32 byte_of(u32 value, int index) { return value >> (8 * index) & 0xff; }

// V_PERM_B32: each selector byte picks one of the eight bytes of {S0, S1}, a sign fill, 0 or 0xff.
u32 permute_bytes(u32 s0, u32 s1, u32 selector) {
  const u64 data = u64{s0} << 32 | s1;
  u32 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 pick = byte_of(selector, i);
    u32 byte;
    if (pick >= 13) byte = 0xff;
    else if (pick == 12) byte = 0;
    else if (pick >= 8) byte = data >> (16 * (pick - 8) + 15) & 1 ? 0xff : 0;
    else byte = data >> (8 * pick) & 0xff;
    out |= byte << (8 * i);
  }
  return out;
}

// The mean of each pair of bytes, rounded up if the third operand's byte is odd.
u32 average_bytes(u32 a, u32 b, u32 round_up) {
  u32 out = 0;
  for (int i = 0; i < 4; ++i) out |= (byte_of(a, i) + byte_of(b, i) + (byte_of(round_up, i) & 1)) >> 1 << (8 * i);
  return out;
}

// Converts the two signed 16-bit halves of a register to two unsigned bytes.
u16 bytes_of_halves(u32 v) {
  const auto byte = [](u32 half) { return saturated<uint8_t>(static_cast<i16>(half)); };
  return static_cast<u16>(byte(v) | byte(v >> 16) << 8);
}

// T: i32 for signed elements, u32 for unsigned ones. Sum: as wide as T for a wrapping sum, i64 for an exact one.
template <int Bits, class T, class Sum>
Sum dot(u32 a, u32 b, T c) {
  Sum total = static_cast<Sum>(c);
  for (int i = 0; i < 32; i += Bits) {
    const T x = static_cast<T>(a << (32 - Bits - i)) >> (32 - Bits);
    const T y = static_cast<T>(b << (32 - Bits - i)) >> (32 - Bits);
    total += static_cast<Sum>(x) * static_cast<Sum>(y);
  }
  return total;
}
template <int Bits, class T>
T wrapped_dot(u32 a, u32 b, T c) {
  return static_cast<T>(dot<Bits, T, u32>(a, b, c));
}
template <int Bits, class T>
T saturated_dot(u32 a, u32 b, T c) {
  return saturated<T>(dot<Bits, T, i64>(a, b, c));
}

template <int Bits, class T>
constexpr Semantics dots(const char* name) {
  return saturates<wrapped_dot<Bits, T>, saturated_dot<Bits, T>>(name);
}
template <int Bits>
constexpr Semantics accumulating_dots(const char* name) {
  Semantics entry = dots<Bits, i32>(name);
  entry.accumulates = true;
  return entry;
}

// ---- sums, limited to the type's range if clamp is set ----

constexpr i64 sum(i64 a, i64 b) { return a + b; }
constexpr i64 difference(i64 a, i64 b) { return a - b; }
constexpr i64 reverse_difference(i64 a, i64 b) { return b - a; }
template <class T, auto F>
constexpr T wrapped(T a, T b) {
  return static_cast<T>(F(a, b));
}
template <class T, auto F>
constexpr T clamped(T a, T b) {
  return saturated<T>(F(a, b));
}

// ---- carries: a mask in, a mask out ----

using AddWithCarry = u64 (*)(u32 a, u32 b, u32 carry);  // bit 32 is the carry (or borrow) out

// Limit: the value that clamp puts in place of a result with a carry (or borrow).
template <AddWithCarry F, bool CarryIn, u32 Limit>
void execute_carry(const Op& op, Wave& wave) {
  const Lanes<u32> a(op, op.source[0], wave);
  const Lanes<u32> b(op, op.source[1], wave);
  const u64 carry_in = CarryIn ? read_scalar<u64>(op.source[2], wave) : 0;
  alignas(64) u32 out[kLanes];
  u64 carry_out = 0;
  for (int l = 0; l < kLanes; ++l) {
    const u64 sum = F(a.data[l], b.data[l], carry_in >> l & 1);
    out[l] = op.clamp && (sum >> 32 & 1) ? Limit : static_cast<u32>(sum);
    carry_out |= (sum >> 32 & 1) << l;
  }
  write_lanes(op, wave, out);
  wave.set_mask(op.scalar_destination.reg, carry_out & wave.exec());
}

template <AddWithCarry F, bool CarryIn, u32 Limit>
constexpr Semantics carries(const char* name) {
  Semantics entry{name, execute_carry<F, CarryIn, Limit>, Unit::Valu, 2, Type::B32, {Type::B32, Type::B32}};
  entry.saturates = true;
  if (CarryIn) entry.source_types[2] = Type::B64;
  return entry;
}

constexpr u32 kMaxU32 = ~0u;
constexpr AddWithCarry plus = [](u32 a, u32 b, u32 c) { return u64{a} + b + c; };
constexpr AddWithCarry minus = [](u32 a, u32 b, u32 c) { return u64{a} - b - c; };
constexpr AddWithCarry reverse_minus = [](u32 a, u32 b, u32 c) { return u64{b} - a - c; };

// V_MAD_U64_U32, V_MAD_I64_I32: bit 64 of the 65-bit result goes to the carry-out; in the signed case, it is the sign.
template <bool Signed>
void multiply_add_64(const Op& op, Wave& wave) {
  const Lanes<u32> a(op, op.source[0], wave);
  const Lanes<u32> b(op, op.source[1], wave);
  const Lanes<u64> c(op, op.source[2], wave);
  alignas(64) u64 out[kLanes];
  u64 carry = 0;
  for (int l = 0; l < kLanes; ++l) {
    if constexpr (Signed) {
      const i64 product = i64{static_cast<i32>(a.data[l])} * static_cast<i32>(b.data[l]);
      i64 sum;
      const bool overflows = __builtin_add_overflow(product, static_cast<i64>(c.data[l]), &sum);
      carry |= u64{(sum < 0) != overflows} << l;
      const i64 limit = sum < 0 ? std::numeric_limits<i64>::max() : std::numeric_limits<i64>::min();
      out[l] = static_cast<u64>(op.clamp && overflows ? limit : sum);
    } else {
      out[l] = u64{a.data[l]} * b.data[l] + c.data[l];
      const bool overflows = out[l] < c.data[l];
      carry |= u64{overflows} << l;
      if (op.clamp && overflows) out[l] = ~u64{0};
    }
  }
  write_lanes(op, wave, out);
  wave.set_mask(op.scalar_destination.reg, carry & wave.exec());
}

using enum Arithmetic;

const Semantics kTable[] = {
    vector<[](u32 a) { return a; }>("v_mov_b32"),
    vector<[](u64 a) { return a; }>("v_mov_b64"),
    vector<[](u32 a) { return a; }>("v_accvgpr_read_b32"),
    vector<[](u32 a) { return a; }>("v_accvgpr_write_b32"),
    vector<[](u32 a) { return a; }>("v_accvgpr_mov_b32"),
    vector<[](u32 a) { return ~a; }>("v_not_b32"),
    vector<[](u32 a) { return reverse_bits(a); }>("v_bfrev_b32"),
    vector<[](u32 a) { return a == 0 ? -1 : std::countl_zero(a); }>("v_ffbh_u32").as(Integer32),
    vector<[](u32 a) { return a == 0 ? -1 : std::countr_zero(a); }>("v_ffbl_b32"),
    vector<[](i32 a) {
      const u32 m = static_cast<u32>(a < 0 ? ~a : a);
      return m == 0 ? -1 : std::countl_zero(m);
    }>("v_ffbh_i32")
        .as(Integer32),

    saturates<wrapped<u32, sum>, clamped<u32, sum>>("v_add_u32").as(Integer32),
    saturates<wrapped<u32, difference>, clamped<u32, difference>>("v_sub_u32").as(Integer32),
    saturates<wrapped<u32, reverse_difference>, clamped<u32, reverse_difference>>("v_subrev_u32").as(Integer32),
    saturates<wrapped<i32, sum>, clamped<i32, sum>>("v_add_i32").as(Integer32),
    saturates<wrapped<i32, difference>, clamped<i32, difference>>("v_sub_i32").as(Integer32),
    carries<plus, false, kMaxU32>("v_add_co_u32").as(Integer32),
    carries<plus, true, kMaxU32>("v_addc_co_u32").as(Integer32),
    carries<minus, false, 0>("v_sub_co_u32").as(Integer32),
    carries<minus, true, 0>("v_subb_co_u32").as(Integer32),
    carries<reverse_minus, false, 0>("v_subrev_co_u32").as(Integer32),
    carries<reverse_minus, true, 0>("v_subbrev_co_u32").as(Integer32),
    vector<[](u32 a, u32 b) { return a * b; }>("v_mul_lo_u32").as(Integer32),
    vector<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>("v_mul_hi_u32").as(Integer32),
    vector<[](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }>("v_mul_hi_i32").as(Integer32),
    wraps_or_saturates<u32, [](u32 a, u32 b) { return i64{low24(a)} * low24(b); }>("v_mul_u32_u24"),
    vector<[](u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); }>("v_mul_hi_u32_u24"),
    wraps_or_saturates<i32, [](u32 a, u32 b) { return i64{low24_signed(a)} * low24_signed(b); }>("v_mul_i32_i24"),
    vector<[](u32 a, u32 b) { return static_cast<i32>(i64{low24_signed(a)} * low24_signed(b) >> 32); }>("v_mul_hi_i32_i24"),
    wraps_or_saturates<u32, [](u32 a, u32 b, u32 c) { return i64{low24(a)} * low24(b) + c; }>("v_mad_u32_u24"),
    wraps_or_saturates<i32, [](u32 a, u32 b, i32 c) { return i64{low24_signed(a)} * low24_signed(b) + c; }>("v_mad_i32_i24"),
    {.mnemonic = "v_mad_u64_u32",
     .execute = multiply_add_64<false>,
     .destinations = 2,
     .destination_type = Type::B64,
     .source_types = {Type::B32, Type::B32, Type::B64},
     .saturates = true,
     .arithmetic = Integer32},
    {.mnemonic = "v_mad_i64_i32",
     .execute = multiply_add_64<true>,
     .destinations = 2,
     .destination_type = Type::B64,
     .source_types = {Type::B32, Type::B32, Type::I64},
     .saturates = true,
     .arithmetic = Integer32},
    wraps_or_saturates<u32, [](u16 a, u16 b, u32 c) { return i64{a} * b + c; }>("v_mad_u32_u16"),
    wraps_or_saturates<i32, [](i16 a, i16 b, i32 c) { return i64{a} * b + c; }>("v_mad_i32_i16"),

    vector<[](i32 a, i32 b) { return std::min(a, b); }>("v_min_i32").as(Integer32),
    vector<[](i32 a, i32 b) { return std::max(a, b); }>("v_max_i32").as(Integer32),
    vector<[](u32 a, u32 b) { return std::min(a, b); }>("v_min_u32").as(Integer32),
    vector<[](u32 a, u32 b) { return std::max(a, b); }>("v_max_u32").as(Integer32),
    vector<[](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); }>("v_min3_i32").as(Integer32),
    vector<[](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); }>("v_max3_i32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); }>("v_min3_u32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); }>("v_max3_u32").as(Integer32),
    vector<[](i32 a, i32 b, i32 c) { return median(a, b, c); }>("v_med3_i32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return median(a, b, c); }>("v_med3_u32").as(Integer32),

    vector<[](u32 a, u32 b) { return b << (a & 31); }>("v_lshlrev_b32"),
    vector<[](u32 a, u32 b) { return b >> (a & 31); }>("v_lshrrev_b32"),
    vector<[](u32 a, i32 b) { return b >> (a & 31); }>("v_ashrrev_i32").as(Integer32),
    vector<[](u32 a, u64 b) { return b << (a & 63); }>("v_lshlrev_b64"),
    vector<[](u32 a, u64 b) { return b >> (a & 63); }>("v_lshrrev_b64"),
    vector<[](u32 a, i64 b) { return b >> (a & 63); }>("v_ashrrev_i64").as(Integer64),
    vector<[](u32 a, u32 b) { return a & b; }>("v_and_b32"),
    vector<[](u32 a, u32 b) { return a | b; }>("v_or_b32"),
    vector<[](u32 a, u32 b) { return a ^ b; }>("v_xor_b32"),
    vector<[](u32 a, u32 b) { return ~(a ^ b); }>("v_xnor_b32"),
    vector<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>("v_xor3_b32"),
    vector<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>("v_and_or_b32"),
    vector<[](u32 a, u32 b, u32 c) { return a | b | c; }>("v_or3_b32"),
    vector<[](u32 a, u32 b, u32 c) { return a + b + c; }>("v_add3_u32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>("v_xad_u32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>("v_lshl_add_u32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>("v_add_lshl_u32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }>("v_lshl_or_b32"),
    with_plain_form(vector<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>("v_lshl_add_u64").as(Integer64),
                    shift_and_add),
    vector<[](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }>("v_bcnt_u32_b32"),
    vector<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("v_bfm_b32"),
    vector<[](u32 a, u32 b, u32 c) { return extract_unsigned(a, b, c); }>("v_bfe_u32").as(Integer32),
    vector<[](i32 a, u32 b, u32 c) { return extract_signed(a, b, c); }>("v_bfe_i32").as(Integer32),
    vector<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>("v_bfi_b32"),
    vector<[](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }>("v_alignbit_b32"),
    vector<[](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3))); }>("v_alignbyte_b32"),
    vector<[](u32 a, u32 b, u32 c) { return permute_bytes(a, b, c); }>("v_perm_b32"),
    vector<[](u32 a, u32 b, u32 c) { return average_bytes(a, b, c); }>("v_lerp_u8"),

    looks_up_bits<u32>("v_bitop3_b32"),
    keeps_upper_half(looks_up_bits<u16>("v_bitop3_b16")),
    vector<[](u32 v) { return v << 1 ^ (v >> 31 ? 197u : 0); }>("v_prng_b32"),
    keeps_upper_half(vector<shift_pair<int8_t>>("v_ashr_pk_i8_i32").as(Integer32)),
    keeps_upper_half(vector<shift_pair<uint8_t>>("v_ashr_pk_u8_i32").as(Integer32)),

    dots<8, i32>("v_dot4_i32_i8"),
    dots<8, u32>("v_dot4_u32_u8"),
    dots<4, i32>("v_dot8_i32_i4"),
    dots<4, u32>("v_dot8_u32_u4"),
    dots<16, i32>("v_dot2_i32_i16"),
    dots<16, u32>("v_dot2_u32_u16"),
    accumulating_dots<8>("v_dot4c_i32_i8"),
    accumulating_dots<4>("v_dot8c_i32_i4"),
    accumulating_dots<16>("v_dot2c_i32_i16"),

    saturates<wrapped<u16, sum>, clamped<u16, sum>>("v_add_u16"),
    saturates<wrapped<u16, difference>, clamped<u16, difference>>("v_sub_u16"),
    saturates<wrapped<u16, reverse_difference>, clamped<u16, reverse_difference>>("v_subrev_u16"),
    keeps_upper_half(saturates<wrapped<i16, sum>, clamped<i16, sum>>("v_add_i16")),
    keeps_upper_half(saturates<wrapped<i16, difference>, clamped<i16, difference>>("v_sub_i16")),
    vector<[](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }>("v_mul_lo_u16"),
    keeps_upper_half(wraps_or_saturates<u16, [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }>("v_mad_u16")),
    wraps_or_saturates<u16, [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }>("v_mad_legacy_u16"),
    keeps_upper_half(wraps_or_saturates<i16, [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }>("v_mad_i16")),
    wraps_or_saturates<i16, [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }>("v_mad_legacy_i16"),
    vector<[](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }>("v_lshlrev_b16"),
    vector<[](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }>("v_lshrrev_b16"),
    vector<[](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }>("v_ashrrev_i16"),
    vector<[](u16 a, u16 b) { return std::max(a, b); }>("v_max_u16"),
    vector<[](u16 a, u16 b) { return std::min(a, b); }>("v_min_u16"),
    vector<[](i16 a, i16 b) { return std::max(a, b); }>("v_max_i16"),
    vector<[](i16 a, i16 b) { return std::min(a, b); }>("v_min_i16"),
    keeps_upper_half(vector<[](u16 a, u16 b, u16 c) { return std::min(std::min(a, b), c); }>("v_min3_u16")),
    keeps_upper_half(vector<[](u16 a, u16 b, u16 c) { return std::max(std::max(a, b), c); }>("v_max3_u16")),
    keeps_upper_half(vector<[](i16 a, i16 b, i16 c) { return std::min(std::min(a, b), c); }>("v_min3_i16")),
    keeps_upper_half(vector<[](i16 a, i16 b, i16 c) { return std::max(std::max(a, b), c); }>("v_max3_i16")),
    keeps_upper_half(vector<[](u16 a, u16 b, u16 c) { return median(a, b, c); }>("v_med3_u16")),
    keeps_upper_half(vector<[](i16 a, i16 b, i16 c) { return median(a, b, c); }>("v_med3_i16")),
    vector<[](u16 a, u16 b) { return u32{a} | u32{b} << 16; }>("v_pack_b32_f16"),
    vector<[](u32 a) { return bytes_of_halves(a); }>("v_sat_pk_u8_i16"),
};

}  // namespace

std::span<const Semantics> vector_integer_semantics() { return kTable; }

}  // namespace rpd
