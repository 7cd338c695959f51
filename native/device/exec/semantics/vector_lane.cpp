// Vector instructions that depend on the lane's number: selects by mask, cross-lane reads, lane counts.
#include <bit>

#include "exec/lane_function.h"

namespace rpd {
namespace {

template <class T>
void conditional_mask(const Op& op, Wave& wave) {
  const Lanes<T> if_clear(op, op.source[0], wave);
  const Lanes<T> if_set(op, op.source[1], wave);
  const uint64_t mask = read_scalar<uint64_t>(op.source[2], wave);
  alignas(64) T out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = mask >> l & 1 ? if_set.data[l] : if_clear.data[l];
  write_lanes(op, wave, out);
}

void plain_conditional_mask(const Op& op, Wave& wave) {
  OperandCopy copies[2];
  const SourceWords if_clear = words_of<uint32_t>(op.source[0], wave, copies[0]);
  const SourceWords if_set = words_of<uint32_t>(op.source[1], wave, copies[1]);
  const uint64_t mask = read_scalar<uint64_t>(op.source[2], wave), exec = wave.exec();
  uint32_t* reg = wave.registers(op.destination);
  for (int l = 0; l < kLanes; l += kChunk)
    store_words(reg + l, select_words(mask >> l, load_words(if_set.at(l)), load_words(if_clear.at(l))), exec >> l);
}

// With no lane enabled, the hardware reads lane 0.
void read_first_lane(const Op& op, Wave& wave) {
  const Lanes<uint32_t> source(op, op.source[0], wave);
  const uint64_t exec = wave.exec();
  write_scalar(op.destination, wave, source.data[exec == 0 ? 0 : std::countr_zero(exec)]);
}

// The lane number in the second source, modulo the number of lanes.
uint32_t lane_of(const Op& op, const Wave& wave) {
  return read_scalar<uint32_t>(op.source[1], wave) % static_cast<uint32_t>(wave.lane_count());
}

void read_lane(const Op& op, Wave& wave) {
  const Lanes<uint32_t> source(op, op.source[0], wave);
  write_scalar(op.destination, wave, source.data[lane_of(op, wave)]);
}

// Ignores exec.
void write_lane(const Op& op, Wave& wave) {
  wave.registers(op.destination)[lane_of(op, wave)] = read_scalar<uint32_t>(op.source[0], wave);
}

template <bool High>
void count_below(const Op& op, Wave& wave) {
  const Lanes<uint32_t> bits(op, op.source[0], wave);
  const Lanes<uint32_t> sum(op, op.source[1], wave);
  alignas(64) uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t below = (uint64_t{1} << l) - 1;
    const auto mask = static_cast<uint32_t>(High ? below >> 32 : below);
    out[l] = sum.data[l] + static_cast<uint32_t>(std::popcount(bits.data[l] & mask));
  }
  write_lanes(op, wave, out);
}

// V_PERMLANE16, V_PERMLANEX16: each lane reads a lane of its own row, or of the other row in its half of the wave. Four bits of
// the scalar operands select that lane. op_sel:[fi,bc] works like DPP's modifiers of these names: with fi, disabled lanes are
// read; with bc, they count as 0.
template <bool OfOtherRow>
void permute_rows(const Op& op, Wave& wave) {
  const Lanes<uint32_t> source(op, op.source[0], wave);
  const uint64_t exec = wave.exec();
  const uint64_t selectors = read_scalar<uint32_t>(op.source[1], wave) | uint64_t{read_scalar<uint32_t>(op.source[2], wave)}
                                                                             << 32;
  const bool fetches_inactive = op.packed_low & 1, zero_out_of_bounds = op.packed_low & 2;
  uint64_t readable = 0;
  alignas(64) uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const int row = (l & ~15) ^ (OfOtherRow ? 16 : 0), from = row | static_cast<int>(selectors >> (4 * (l & 15)) & 15);
    const bool reads = fetches_inactive || (exec >> from & 1);
    readable |= uint64_t{reads} << l;
    out[l] = reads ? source.data[from] : 0;
  }
  write_lanes32(wave.registers(op.destination), out, zero_out_of_bounds ? exec : exec & readable);
}

template <bool OfOtherRow>
constexpr Semantics permutes_rows(const char* name) {
  return {.mnemonic = name,
          .execute = permute_rows<OfOtherRow>,
          .source_types = {Type::B32, Type::B32, Type::B32},
          .packed = true,
          .default_packed_high = 0};
}

void swap(const Op& op, Wave& wave) {
  uint32_t* a = wave.registers(op.destination);
  uint32_t* b = wave.registers(op.source[0]);
  for (int l = 0; l < kLanes; ++l) {
    if (wave.exec() >> l & 1) std::swap(a[l], b[l]);
  }
}

// Swaps the upper half of each group of lanes in the first register with the lower half in the second. Two lanes are swapped
// only if both are enabled.
template <int Half>
void swap_halves(const Op& op, Wave& wave) {
  uint32_t* a = wave.registers(op.destination);
  uint32_t* b = wave.registers(op.source[0]);
  for (int l = 0; l < kLanes; ++l) {
    if (l & Half || !(wave.exec() >> l & wave.exec() >> (l + Half) & 1)) continue;
    std::swap(a[l + Half], b[l]);
  }
}

void nothing(const Op&, Wave&) {}

const Semantics kTable[] = {
    {.mnemonic = "v_cndmask_b32",
     .execute = conditional_mask<uint32_t>,
     .source_types = {Type::B32, Type::B32, Type::B64},
     .plain = plain_conditional_mask},
    {"v_readfirstlane_b32", read_first_lane, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_readlane_b32", read_lane, Unit::Valu, 1, Type::B32, {Type::B32, Type::B32}},
    {"v_writelane_b32", write_lane, Unit::Valu, 1, Type::B32, {Type::B32, Type::B32}},
    {"v_mbcnt_lo_u32_b32", count_below<false>, Unit::Valu, 1, Type::B32, {Type::B32, Type::B32}},
    {"v_mbcnt_hi_u32_b32", count_below<true>, Unit::Valu, 1, Type::B32, {Type::B32, Type::B32}},
    permutes_rows<false>("v_permlane16_b32"),
    permutes_rows<true>("v_permlanex16_b32"),
    {"v_swap_b32", swap, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_permlane16_swap_b32", swap_halves<16>, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_permlane32_swap_b32", swap_halves<32>, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_nop", nothing, Unit::Valu, 0, Type::None},
};

}  // namespace

std::span<const Semantics> vector_lane_semantics() { return kTable; }

}  // namespace rpd
