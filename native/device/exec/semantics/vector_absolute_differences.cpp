// Sums of absolute differences, which motion estimation uses to compare blocks of pixels. Follows AMD's pseudo-code for CDNA3.
#include <algorithm>

#include "exec/lane_function.h"

namespace rpd {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i64 = int64_t;

u32 byte_of(u32 value, int index) { return value >> (8 * index) & 0xff; }

template <int Bits>
u32 sum_of_differences(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 32; i += Bits) {
    const u32 x = a >> i & ((1u << Bits) - 1);
    const u32 y = b >> i & ((1u << Bits) - 1);
    sum += std::max(x, y) - std::min(x, y);
  }
  return sum;
}
// Bytes that are 0 in the second operand are skipped.
u32 masked_sum_of_differences(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (byte_of(b, i)) sum += std::max(byte_of(a, i), byte_of(b, i)) - std::min(byte_of(a, i), byte_of(b, i));
  }
  return sum;
}

// ---- four sums at once: of S0's bytes 0 to 3, 1 to 4, 2 to 5 and 3 to 6, each against the four bytes of S1 ----

constexpr int kSums = 4;
using Sum = u32 (*)(u32, u32);

template <Sum F>
u32 sum_behind(u64 bytes, int first, u32 reference) {
  return F(static_cast<u32>(bytes >> (8 * first)), reference);
}

u16 low_half(i64 exact) { return static_cast<u16>(exact); }
template <Sum F, u16 (*Fit)(i64)>
u64 add_four_halves(u64 bytes, u32 reference, u64 old) {
  u64 out = 0;
  for (int i = 0; i < kSums; ++i) {
    out |= u64{Fit(i64{sum_behind<F>(bytes, i, reference)} + static_cast<u16>(old >> (16 * i)))} << (16 * i);
  }
  return out;
}
template <Sum F>
constexpr Semantics four_halves(const char* name) {
  return saturates<add_four_halves<F, low_half>, add_four_halves<F, saturated<u16>>>(name);
}

// V_MQSAD_U32_U8: 32 bits for each sum, in four registers.
void add_four_words(const Op& op, Wave& wave) {
  const Lanes<u64> bytes(op, op.source[0], wave);
  const Lanes<u32> reference(op, op.source[1], wave);
  const u32* old = wave.registers(op.source[2]);
  alignas(64) u32 out[kSums][kLanes];
  for (int i = 0; i < kSums; ++i) {
    for (int l = 0; l < kLanes; ++l) {
      const i64 exact = i64{sum_behind<masked_sum_of_differences>(bytes.data[l], i, reference.data[l])} + old[i * kLanes + l];
      out[i][l] = op.clamp ? saturated<u32>(exact) : static_cast<u32>(exact);
    }
  }
  for (int i = 0; i < kSums; ++i) write_lanes32(wave.registers(op.destination) + i * kLanes, out[i], wave.exec());
}

const Semantics kTable[] = {
    wraps_or_saturates<u32, [](u32 a, u32 b, u32 c) { return i64{sum_of_differences<8>(a, b)} + c; }>("v_sad_u8"),
    wraps_or_saturates<u32, [](u32 a, u32 b, u32 c) { return (i64{sum_of_differences<8>(a, b)} << 16) + c; }>("v_sad_hi_u8"),
    wraps_or_saturates<u32, [](u32 a, u32 b, u32 c) { return i64{sum_of_differences<16>(a, b)} + c; }>("v_sad_u16"),
    wraps_or_saturates<u32, [](u32 a, u32 b, u32 c) { return i64{masked_sum_of_differences(a, b)} + c; }>("v_msad_u8"),
    wraps_or_saturates<u32, [](u32 a, u32 b, u32 c) { return i64{a > b ? a - b : b - a} + c; }>("v_sad_u32")
        .as(Arithmetic::Integer32),

    four_halves<sum_of_differences<8>>("v_qsad_pk_u16_u8"),
    four_halves<masked_sum_of_differences>("v_mqsad_pk_u16_u8"),
    {.mnemonic = "v_mqsad_u32_u8",
     .execute = add_four_words,
     .source_types = {Type::B64, Type::B32, Type::B32},
     .saturates = true},
};

}  // namespace

std::span<const Semantics> vector_absolute_difference_semantics() { return kTable; }

}  // namespace rpd
