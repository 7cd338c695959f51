#include "exec/unmodified_operands_fast_path.h"

namespace rpd {
namespace {

uint32_t with_sign(const Operand& operand, uint32_t word) {
  constexpr uint32_t sign = 1u << 31;
  if (operand.absolute) word &= ~sign;
  return operand.negate ? word ^ sign : word;
}

// A chunk whose lanes all have the same value.
template <class B>
void broadcast(B value, OperandCopy& copy) {
  for (size_t i = 0; i < sizeof(B) / sizeof(uint32_t); ++i) {
    const Words words = Words{} + static_cast<uint32_t>(uint64_t{value} >> 32 * i);
    std::memcpy(copy.words + i * kLanes, &words, sizeof words);
  }
}

}  // namespace

template <class B>
SourceWords copy_operand(const Operand& operand, const Wave& wave, OperandCopy& copy) {
  constexpr size_t words = sizeof(B) / sizeof(uint32_t);
  const bool same = !is_vector(operand);
  if (same) {
    const B value = operand.kind == Operand::Kind::Constant ? static_cast<B>(operand.constant) : read_scalar<B>(operand, wave);
    broadcast(value, copy);
  } else {
    std::memcpy(copy.words, wave.registers(operand), sizeof(B) * kLanes);
  }
  if (operand.negate | operand.absolute) {
    uint32_t* signs = copy.words + (words - 1) * kLanes;
    for (int l = 0; l < (same ? kChunk : kLanes); ++l) signs[l] = with_sign(operand, signs[l]);
  }
  return {copy.words, same ? 0 : ptrdiff_t{sizeof(Words)}};
}

template SourceWords copy_operand<uint32_t>(const Operand&, const Wave&, OperandCopy&);
template SourceWords copy_operand<uint64_t>(const Operand&, const Wave&, OperandCopy&);

}  // namespace rpd
