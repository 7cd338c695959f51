#include "exec/unmodified_operands_fast_path.h"

namespace rpd {
namespace {

uint32_t with_sign(const Operand& operand, uint32_t word) {
  constexpr uint32_t sign = 1u << 31;
  if (operand.absolute) word &= ~sign;
  return operand.negate ? word ^ sign : word;
}

}  // namespace

SourceWords copy_operand(const Operand& operand, const Wave& wave, size_t words, OperandCopy& copy) {
  const bool same = !is_vector(operand);
  const int lanes = same ? kChunk : kLanes;
  if (same) {
    const uint64_t value = words == 2 ? read_scalar<uint64_t>(operand, wave) : read_scalar<uint32_t>(operand, wave);
    for (size_t i = 0; i < words; ++i) {
      for (int l = 0; l < kChunk; ++l) copy.words[i * kLanes + l] = static_cast<uint32_t>(value >> 32 * i);
    }
  } else {
    std::memcpy(copy.words, wave.registers(operand), words * kLanes * sizeof(uint32_t));
  }
  if (operand.negate || operand.absolute) {
    uint32_t* signs = copy.words + (words - 1) * kLanes;
    for (int l = 0; l < lanes; ++l) signs[l] = with_sign(operand, signs[l]);
  }
  return {copy.words, same ? 0 : ptrdiff_t{sizeof(Words)}};
}

}  // namespace rpd
