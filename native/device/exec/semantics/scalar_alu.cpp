// SOP1, SOP2, SOPC, SOPK: arithmetic on scalar registers. Follows AMD's pseudo-code for CDNA3.
#include <bit>
#include <cstring>

#include "exec/lane_function.h"

namespace rpd {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

template <class T>
T logic(bool& scc, T value) {
  scc = value != 0;
  return value;
}

u32 add(bool& scc, u32 a, u32 b, bool carry) {
  const u64 sum = u64{a} + b + carry;
  scc = sum >> 32;
  return static_cast<u32>(sum);
}

u32 subtract(bool& scc, u32 a, u32 b, bool borrow) {
  scc = u64{a} < u64{b} + borrow;
  return a - b - borrow;
}

i32 add_signed(bool& scc, i32 a, i32 b) {
  i32 sum;
  scc = __builtin_add_overflow(a, b, &sum);
  return sum;
}

i32 subtract_signed(bool& scc, i32 a, i32 b) {
  i32 difference;
  scc = __builtin_sub_overflow(a, b, &difference);
  return difference;
}

// S_BFE: offset in the low bits, width in bits 22:16. A width of 0 gives 0; a field that extends beyond the top bit ends there.
template <class T>
T extract(bool& scc, T value, u32 field, unsigned offset_bits) {
  const unsigned bits = 8 * sizeof(T);
  const unsigned offset = field & ((1u << offset_bits) - 1);
  const unsigned width = field >> 16 & 0x7f;
  using U = std::make_unsigned_t<T>;
  T result = 0;
  if (width != 0) {
    const U shifted = static_cast<U>(value >> offset);
    const unsigned drop = width >= bits ? 0 : bits - width;
    result = static_cast<T>(static_cast<U>(shifted << drop)) >> drop;
  }
  return logic(scc, result);
}

template <class T>
i32 find_first(T value) {
  return value == 0 ? -1 : std::countr_zero(value);
}
template <class T>
i32 leading(T value) {
  return value == 0 ? -1 : std::countl_zero(value);
}
// Position, counted from the top, of the first bit that differs from the sign bit.
template <class T>
i32 leading_signed(T value) {
  using U = std::make_unsigned_t<T>;
  return leading(static_cast<U>(value < 0 ? ~value : value));
}

template <class T>
T reverse(T value) {
  T out = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) out |= (value >> i & 1) << (8 * sizeof(T) - 1 - i);
  return out;
}

template <class T>
T whole_quads(T value) {
  T out = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); i += 4) {
    if (value >> i & 0xf) out |= T{0xf} << i;
  }
  return out;
}

template <class T>
T quad_mask(T value) {
  T out = 0;
  for (unsigned i = 0; i < 2 * sizeof(T); ++i) out |= T{(value >> (4 * i) & 0xf) != 0} << i;
  return out;
}

using Combine = u64 (*)(u64 operand, u64 exec);

// exec = f(S0, exec), for all of exec (if T has 64 bits) or for its lower half. D receives the old value or the new one.
template <class T, Combine F, bool Saves>
void change_exec(const Op& op, Wave& wave) {
  const T before = static_cast<T>(wave.exec());
  const T after = static_cast<T>(F(read_scalar<T>(op.source[0], wave), before));
  write_scalar(op.destination, wave, Saves ? before : after);
  std::memcpy(&wave.scalar[kExec], &after, sizeof after);
  wave.scc = after != 0;
}

// S_<op>_SAVEEXEC and S_<op>_WREXEC.
template <class T, Combine F>
constexpr Semantics saves_exec(const char* name) {
  return {name, change_exec<T, F, true>, Unit::Salu, 1, type_of<T>(), {type_of<T>()}};
}
template <class T, Combine F>
constexpr Semantics writes_exec(const char* name) {
  return {name, change_exec<T, F, false>, Unit::Salu, 1, type_of<T>(), {type_of<T>()}};
}

// The destination keeps its value if scc is 0 (S_CMOV), or keeps all bits but the one to be set or cleared (S_BITSET).
template <class T>
void conditional_move(const Op& op, Wave& wave) {
  if (wave.scc) write_scalar(op.destination, wave, read_scalar<T>(op.source[0], wave));
}
template <class T, bool Set>
void bit_set(const Op& op, Wave& wave) {
  const T bit = T{1} << (read_scalar<u32>(op.source[0], wave) & (8 * sizeof(T) - 1));
  const T old = read_scalar<T>(op.destination, wave);
  write_scalar<T>(op.destination, wave, Set ? old | bit : old & ~bit);
}

i32 short_immediate(const Op& op) { return static_cast<int16_t>(op.immediate); }

void move_k(const Op& op, Wave& wave) { write_scalar(op.destination, wave, short_immediate(op)); }
void conditional_move_k(const Op& op, Wave& wave) {
  if (wave.scc) move_k(op, wave);
}
void add_k(const Op& op, Wave& wave) {
  const i32 old = read_scalar<i32>(op.destination, wave);
  write_scalar(op.destination, wave, add_signed(wave.scc, old, short_immediate(op)));
}
void multiply_k(const Op& op, Wave& wave) {
  write_scalar(op.destination, wave, read_scalar<u32>(op.destination, wave) * static_cast<u32>(short_immediate(op)));
}

using Compare = bool (*)(i64, i64);
// S_CMPK: a register against a signed or unsigned 16-bit immediate.
template <Compare F, bool Signed>
void compare_k(const Op& op, Wave& wave) {
  const u32 value = read_scalar<u32>(op.source[0], wave);
  wave.scc = Signed ? F(static_cast<i32>(value), short_immediate(op)) : F(value, op.immediate & 0xffff);
}
template <Compare F, bool Signed>
constexpr Semantics compares_k(const char* name) {
  Semantics entry{name, compare_k<F, Signed>, Unit::Salu, 0, Type::None, {Type::B32}};
  entry.needs_immediate = true;
  return entry;
}
constexpr Semantics with_immediate(const char* name, Execute execute) {
  Semantics entry{name, execute, Unit::Salu};
  entry.needs_immediate = true;
  return entry;
}

constexpr Compare eq = [](i64 a, i64 b) { return a == b; };
constexpr Compare lg = [](i64 a, i64 b) { return a != b; };
constexpr Compare gt = [](i64 a, i64 b) { return a > b; };
constexpr Compare ge = [](i64 a, i64 b) { return a >= b; };
constexpr Compare lt = [](i64 a, i64 b) { return a < b; };
constexpr Compare le = [](i64 a, i64 b) { return a <= b; };

// Both widths of an instruction that combines its operand (`s`) with exec (`e`).
#define EXEC_ROWS(KIND, NAME, RESULT)                               \
  KIND<u64, [](u64 s, u64 e) { return RESULT; }>("s_" NAME "_b64"), \
      KIND<u32, [](u64 s, u64 e) { return RESULT; }>("s_" NAME "_b32")

const Semantics kTable[] = {
    scalar<[](bool& c, u32 a, u32 b) { return add(c, a, b, false); }>("s_add_u32"),
    scalar<[](bool& c, u32 a, u32 b) { return add(c, a, b, c); }>("s_addc_u32"),
    scalar<[](bool& c, u32 a, u32 b) { return subtract(c, a, b, false); }>("s_sub_u32"),
    scalar<[](bool& c, u32 a, u32 b) { return subtract(c, a, b, c); }>("s_subb_u32"),
    scalar<[](bool& c, i32 a, i32 b) { return add_signed(c, a, b); }>("s_add_i32"),
    scalar<[](bool& c, i32 a, i32 b) { return subtract_signed(c, a, b); }>("s_sub_i32"),
    scalar<[](bool& c, i32 a, i32 b) {
      c = a < b;
      return c ? a : b;
    }>("s_min_i32"),
    scalar<[](bool& c, u32 a, u32 b) {
      c = a < b;
      return c ? a : b;
    }>("s_min_u32"),
    scalar<[](bool& c, i32 a, i32 b) {
      c = a >= b;
      return c ? a : b;
    }>("s_max_i32"),
    scalar<[](bool& c, u32 a, u32 b) {
      c = a >= b;
      return c ? a : b;
    }>("s_max_u32"),
    scalar<[](bool& c, u32 a, u32 b) { return c ? a : b; }>("s_cselect_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return c ? a : b; }>("s_cselect_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a & b); }>("s_and_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, a & b); }>("s_and_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a | b); }>("s_or_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, a | b); }>("s_or_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a ^ b); }>("s_xor_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, a ^ b); }>("s_xor_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a & ~b); }>("s_andn2_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, a & ~b); }>("s_andn2_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a | ~b); }>("s_orn2_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, a | ~b); }>("s_orn2_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, ~(a & b)); }>("s_nand_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, ~(a & b)); }>("s_nand_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, ~(a | b)); }>("s_nor_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, ~(a | b)); }>("s_nor_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, ~(a ^ b)); }>("s_xnor_b32"),
    scalar<[](bool& c, u64 a, u64 b) { return logic(c, ~(a ^ b)); }>("s_xnor_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a << (b & 31)); }>("s_lshl_b32"),
    scalar<[](bool& c, u64 a, u32 b) { return logic(c, a << (b & 63)); }>("s_lshl_b64"),
    scalar<[](bool& c, u32 a, u32 b) { return logic(c, a >> (b & 31)); }>("s_lshr_b32"),
    scalar<[](bool& c, u64 a, u32 b) { return logic(c, a >> (b & 63)); }>("s_lshr_b64"),
    scalar<[](bool& c, i32 a, u32 b) { return logic(c, a >> (b & 31)); }>("s_ashr_i32"),
    scalar<[](bool& c, i64 a, u32 b) { return logic(c, a >> (b & 63)); }>("s_ashr_i64"),
    scalar<[](bool&, u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>("s_bfm_b32"),
    scalar<[](bool&, u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }>("s_bfm_b64"),
    scalar<[](bool&, u32 a, u32 b) { return a * b; }>("s_mul_i32"),
    scalar<[](bool&, u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>("s_mul_hi_u32"),
    scalar<[](bool&, i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }>("s_mul_hi_i32"),
    scalar<[](bool& c, u32 a, u32 b) { return extract(c, a, b, 5); }>("s_bfe_u32"),
    scalar<[](bool& c, i32 a, u32 b) { return extract(c, a, b, 5); }>("s_bfe_i32"),
    scalar<[](bool& c, u64 a, u32 b) { return extract(c, a, b, 6); }>("s_bfe_u64"),
    scalar<[](bool& c, i64 a, u32 b) { return extract(c, a, b, 6); }>("s_bfe_i64"),
    scalar<[](bool& c, i32 a, i32 b) {
      const u32 d = static_cast<u32>(a) - static_cast<u32>(b);
      return logic(c, static_cast<i32>(d) < 0 ? 0 - d : d);
    }>("s_absdiff_i32"),
    scalar<[](bool& c, u32 a, u32 b) {
      const u64 s = (u64{a} << 1) + b;
      c = s >> 32;
      return static_cast<u32>(s);
    }>("s_lshl1_add_u32"),
    scalar<[](bool& c, u32 a, u32 b) {
      const u64 s = (u64{a} << 2) + b;
      c = s >> 32;
      return static_cast<u32>(s);
    }>("s_lshl2_add_u32"),
    scalar<[](bool& c, u32 a, u32 b) {
      const u64 s = (u64{a} << 3) + b;
      c = s >> 32;
      return static_cast<u32>(s);
    }>("s_lshl3_add_u32"),
    scalar<[](bool& c, u32 a, u32 b) {
      const u64 s = (u64{a} << 4) + b;
      c = s >> 32;
      return static_cast<u32>(s);
    }>("s_lshl4_add_u32"),
    scalar<[](bool&, u32 a, u32 b) { return (a & 0xffff) | b << 16; }>("s_pack_ll_b32_b16"),
    scalar<[](bool&, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000u); }>("s_pack_lh_b32_b16"),
    scalar<[](bool&, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }>("s_pack_hh_b32_b16"),

    scalar<[](bool&, u32 a) { return a; }>("s_mov_b32"),
    scalar<[](bool&, u64 a) { return a; }>("s_mov_b64"),
    {"s_cmov_b32", conditional_move<u32>, Unit::Salu, 1, Type::B32, {Type::B32}},
    {"s_cmov_b64", conditional_move<u64>, Unit::Salu, 1, Type::B64, {Type::B64}},
    scalar<[](bool& c, u32 a) { return logic(c, ~a); }>("s_not_b32"),
    scalar<[](bool& c, u64 a) { return logic(c, ~a); }>("s_not_b64"),
    scalar<[](bool& c, u32 a) { return logic(c, whole_quads(a)); }>("s_wqm_b32"),
    scalar<[](bool& c, u64 a) { return logic(c, whole_quads(a)); }>("s_wqm_b64"),
    scalar<[](bool& c, u32 a) { return logic(c, quad_mask(a)); }>("s_quadmask_b32"),
    scalar<[](bool& c, u64 a) { return logic(c, quad_mask(a)); }>("s_quadmask_b64"),
    scalar<[](bool&, u32 a) { return reverse(a); }>("s_brev_b32"),
    scalar<[](bool&, u64 a) { return reverse(a); }>("s_brev_b64"),
    scalar<[](bool& c, u32 a) { return logic(c, std::popcount(~a)); }>("s_bcnt0_i32_b32"),
    scalar<[](bool& c, u64 a) { return logic(c, std::popcount(~a)); }>("s_bcnt0_i32_b64"),
    scalar<[](bool& c, u32 a) { return logic(c, std::popcount(a)); }>("s_bcnt1_i32_b32"),
    scalar<[](bool& c, u64 a) { return logic(c, std::popcount(a)); }>("s_bcnt1_i32_b64"),
    scalar<[](bool&, u32 a) { return find_first(~a); }>("s_ff0_i32_b32"),
    scalar<[](bool&, u64 a) { return find_first(~a); }>("s_ff0_i32_b64"),
    scalar<[](bool&, u32 a) { return find_first(a); }>("s_ff1_i32_b32"),
    scalar<[](bool&, u64 a) { return find_first(a); }>("s_ff1_i32_b64"),
    scalar<[](bool&, u32 a) { return leading(a); }>("s_flbit_i32_b32"),
    scalar<[](bool&, u64 a) { return leading(a); }>("s_flbit_i32_b64"),
    scalar<[](bool&, i32 a) { return leading_signed(a); }>("s_flbit_i32"),
    scalar<[](bool&, i64 a) { return leading_signed(a); }>("s_flbit_i32_i64"),
    scalar<[](bool&, u32 a) { return static_cast<i32>(static_cast<int8_t>(a)); }>("s_sext_i32_i8"),
    scalar<[](bool&, u32 a) { return static_cast<i32>(static_cast<int16_t>(a)); }>("s_sext_i32_i16"),
    scalar<[](bool& c, i32 a) { return logic(c, a < 0 ? static_cast<i32>(0u - static_cast<u32>(a)) : a); }>("s_abs_i32"),
    scalar<[](bool&, u32 a) {
      u64 out = 0;
      for (int i = 0; i < 32; ++i) out |= static_cast<u64>(a >> i & 1) * 3 << (2 * i);
      return out;
    }>("s_bitreplicate_b64_b32"),
    {"s_bitset0_b32", bit_set<u32, false>, Unit::Salu, 1, Type::B32, {Type::B32}},
    {"s_bitset0_b64", bit_set<u64, false>, Unit::Salu, 1, Type::B64, {Type::B32}},
    {"s_bitset1_b32", bit_set<u32, true>, Unit::Salu, 1, Type::B32, {Type::B32}},
    {"s_bitset1_b64", bit_set<u64, true>, Unit::Salu, 1, Type::B64, {Type::B32}},

    // clang-format off: it mistakes & for a reference
    EXEC_ROWS(saves_exec, "and_saveexec", s & e),
    EXEC_ROWS(saves_exec, "or_saveexec", s | e),
    EXEC_ROWS(saves_exec, "xor_saveexec", s ^ e),
    EXEC_ROWS(saves_exec, "andn2_saveexec", s & ~e),
    EXEC_ROWS(saves_exec, "orn2_saveexec", s | ~e),
    EXEC_ROWS(saves_exec, "nand_saveexec", ~(s & e)),
    EXEC_ROWS(saves_exec, "nor_saveexec", ~(s | e)),
    EXEC_ROWS(saves_exec, "xnor_saveexec", ~(s ^ e)),
    EXEC_ROWS(saves_exec, "andn1_saveexec", ~s & e),
    EXEC_ROWS(saves_exec, "orn1_saveexec", ~s | e),
    EXEC_ROWS(writes_exec, "andn1_wrexec", ~s & e),
    EXEC_ROWS(writes_exec, "andn2_wrexec", s & ~e),
    // clang-format on

    scalar<[](bool& c, i32 a, i32 b) { c = a == b; }>("s_cmp_eq_i32"),
    scalar<[](bool& c, i32 a, i32 b) { c = a != b; }>("s_cmp_lg_i32"),
    scalar<[](bool& c, i32 a, i32 b) { c = a > b; }>("s_cmp_gt_i32"),
    scalar<[](bool& c, i32 a, i32 b) { c = a >= b; }>("s_cmp_ge_i32"),
    scalar<[](bool& c, i32 a, i32 b) { c = a < b; }>("s_cmp_lt_i32"),
    scalar<[](bool& c, i32 a, i32 b) { c = a <= b; }>("s_cmp_le_i32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a == b; }>("s_cmp_eq_u32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a != b; }>("s_cmp_lg_u32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a > b; }>("s_cmp_gt_u32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a >= b; }>("s_cmp_ge_u32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a < b; }>("s_cmp_lt_u32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a <= b; }>("s_cmp_le_u32"),
    scalar<[](bool& c, u64 a, u64 b) { c = a == b; }>("s_cmp_eq_u64"),
    scalar<[](bool& c, u64 a, u64 b) { c = a != b; }>("s_cmp_lg_u64"),
    scalar<[](bool& c, u32 a, u32 b) { c = !(a >> (b & 31) & 1); }>("s_bitcmp0_b32"),
    scalar<[](bool& c, u32 a, u32 b) { c = a >> (b & 31) & 1; }>("s_bitcmp1_b32"),
    scalar<[](bool& c, u64 a, u32 b) { c = !(a >> (b & 63) & 1); }>("s_bitcmp0_b64"),
    scalar<[](bool& c, u64 a, u32 b) { c = a >> (b & 63) & 1; }>("s_bitcmp1_b64"),

    with_immediate("s_movk_i32", move_k),
    with_immediate("s_cmovk_i32", conditional_move_k),
    with_immediate("s_addk_i32", add_k),
    with_immediate("s_mulk_i32", multiply_k),
    compares_k<eq, true>("s_cmpk_eq_i32"),
    compares_k<lg, true>("s_cmpk_lg_i32"),
    compares_k<gt, true>("s_cmpk_gt_i32"),
    compares_k<ge, true>("s_cmpk_ge_i32"),
    compares_k<lt, true>("s_cmpk_lt_i32"),
    compares_k<le, true>("s_cmpk_le_i32"),
    compares_k<eq, false>("s_cmpk_eq_u32"),
    compares_k<lg, false>("s_cmpk_lg_u32"),
    compares_k<gt, false>("s_cmpk_gt_u32"),
    compares_k<ge, false>("s_cmpk_ge_u32"),
    compares_k<lt, false>("s_cmpk_lt_u32"),
    compares_k<le, false>("s_cmpk_le_u32"),
};

}  // namespace

std::span<const Semantics> scalar_alu_semantics() { return kTable; }

}  // namespace rpd
