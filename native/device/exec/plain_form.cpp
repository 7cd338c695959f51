#include "exec/plain_form.h"

namespace rpd {
namespace {

uint32_t with_sign(const Operand& operand, uint32_t word) {
  constexpr uint32_t sign = 1u << 31;
  if (operand.absolute) word &= ~sign;
  return operand.negate ? word ^ sign : word;
}

}  // namespace

const uint32_t* copy_operand(const Operand& operand, const Wave& wave, size_t words, OperandCopy& copy) {
  if (is_vector(operand)) {
    std::memcpy(copy.words, wave.registers(operand), words * kLanes * sizeof(uint32_t));
  } else {
    const uint64_t value = words == 2 ? read_scalar<uint64_t>(operand, wave) : read_scalar<uint32_t>(operand, wave);
    for (size_t i = 0; i < words; ++i) {
      for (int l = 0; l < kLanes; ++l) copy.words[i * kLanes + l] = static_cast<uint32_t>(value >> 32 * i);
    }
  }
  if (operand.negate || operand.absolute) {
    uint32_t* signs = copy.words + (words - 1) * kLanes;
    for (int l = 0; l < kLanes; ++l) signs[l] = with_sign(operand, signs[l]);
  }
  return copy.words;
}

}  // namespace rpd
