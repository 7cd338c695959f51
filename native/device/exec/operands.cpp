#include "exec/operands.h"

namespace rpd {

uint32_t select_bits(uint32_t value, Select select, bool sign_extend) {
  unsigned shift = 0;
  unsigned width = 32;
  switch (select) {
    case Select::Dword: break;
    case Select::Byte0:
    case Select::Byte1:
    case Select::Byte2:
    case Select::Byte3:
      shift = 8 * (static_cast<unsigned>(select) - static_cast<unsigned>(Select::Byte0));
      width = 8;
      break;
    case Select::Word0:
    case Select::Word1:
      shift = 16 * (static_cast<unsigned>(select) - static_cast<unsigned>(Select::Word0));
      width = 16;
      break;
  }
  if (width == 32) return value;
  value = value >> shift & ((1u << width) - 1);
  if (sign_extend && (value >> (width - 1) & 1)) value |= ~0u << width;
  return value;
}

void select_lanes(const Op& op, const Operand& operand, const Wave& wave, const uint32_t* from, uint32_t* to) {
  if (operand.dpp) {
    const LanePermutation& permutation = *op.permutation;
    const uint64_t reading = permutation.reading(wave.exec());
    for (int l = 0; l < kLanes; ++l) to[l] = from[permutation.source[l]] & -static_cast<uint32_t>(reading >> l & 1);
  } else {
    std::memcpy(to, from, kLanes * sizeof(uint32_t));
  }
  if (operand.select == Select::Dword) return;
  for (int l = 0; l < kLanes; ++l) to[l] = select_bits(to[l], operand.select, operand.sign_extend);
}

void write_selected(const Op& op, uint32_t* reg, const uint32_t* values, uint64_t mask) {
  const auto select = op.destination_select;
  const bool byte = select >= Select::Byte0 && select <= Select::Byte3;
  const unsigned index = static_cast<unsigned>(select) - static_cast<unsigned>(byte ? Select::Byte0 : Select::Word0);
  const unsigned width = byte ? 8 : 16;
  const unsigned shift = index * width;
  const uint32_t field = ((1u << width) - 1) << shift;
  for (int l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1)) continue;
    const uint32_t placed = values[l] << shift & field;
    switch (op.destination_unused) {
      case DestinationUnused::Preserve: reg[l] = (reg[l] & ~field) | placed; break;
      case DestinationUnused::Pad: reg[l] = placed; break;
      case DestinationUnused::SignExtend: {
        const bool negative = placed >> (shift + width - 1) & 1;
        const uint32_t above = shift + width == 32 ? 0 : ~0u << (shift + width);
        reg[l] = negative ? placed | above : placed;
        break;
      }
    }
  }
}

}  // namespace rpd
