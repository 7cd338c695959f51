#include "exec/register_indexing.h"

#include <algorithm>

#include "exec/execute_instruction.h"
#include "isa/semantics.h"

namespace rpd {
namespace {

constexpr int kDestinationEnable = 3;

// If the last source is also the destination, it is offset like the destination.
int enable_of(const Semantics& semantics, int source) {
  const auto count =
      std::count_if(semantics.source_types.begin(), semantics.source_types.end(), [](Type type) { return type != Type::None; });
  return semantics.accumulates && source + 1 == count ? kDestinationEnable : source;
}

bool has_its_registers(const Op& op, const Wave& wave) {
  const auto registers = static_cast<uint32_t>((wave.accumulator - wave.vector) / kLanes);
  const auto inside = [registers](const Operand& operand) {
    return operand.kind != Operand::Kind::Vector || operand.reg + operand.dwords <= registers;
  };
  return inside(op.destination) && std::all_of(op.source.begin(), op.source.end(), inside);
}

}  // namespace

Op with_index(const Op& op, const Wave& wave) {
  Op moved = op;
  if (!op.semantics || op.semantics->unit != Unit::Valu) return moved;
  const uint32_t m0 = wave.scalar[kM0];
  const auto move = [&](Operand& operand, int enable) {
    if (operand.kind != Operand::Kind::Vector || !(m0 >> (kGprIndexEnables + enable) & 1)) return;
    operand.reg = static_cast<uint16_t>(operand.reg + (m0 & kGprIndexMask));
  };
  for (int i = 0; i < 3; ++i) move(moved.source[i], enable_of(*op.semantics, i));
  move(moved.destination, kDestinationEnable);
  return moved;
}

void execute_indexed(const Op& op, Wave& wave) {
  if (!op.semantics || op.semantics->unit != Unit::Valu) return execute_by_mode(op, wave);
  const Op moved = with_index(op, wave);
  if (!has_its_registers(moved, wave)) {
    return wave.raise("a register not allocated to the kernel, selected by the index in m0", op.address);
  }
  execute_by_mode(moved, wave);
}

}  // namespace rpd
