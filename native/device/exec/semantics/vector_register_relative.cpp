// Moves between vector registers whose numbers are shifted by M0: gfx10's way of indexing arrays held in registers. Follows the
// RDNA 2 ISA document.
#include <utility>

#include "exec/operands.h"

namespace rpd {
namespace {

// The amounts by which M0 shifts the register numbers of sources and of destinations.
struct Shifts {
  uint32_t source = 0, destination = 0;
};
Shifts of_source(uint32_t m0) { return {.source = m0}; }
Shifts of_destination(uint32_t m0) { return {.destination = m0}; }
Shifts of_both(uint32_t m0) { return {m0, m0}; }
Shifts apart(uint32_t m0) { return {m0 & 0x3ff, m0 >> 16 & 0x3ff}; }

// The operand's register, shifted. Raises a fault and returns null if the kernel does not have that register.
uint32_t* shifted(const Op& op, Wave& wave, const Operand& operand, uint32_t by) {
  const auto registers = static_cast<uint64_t>(wave.accumulator - wave.vector) / kLanes;
  if (operand.reg + uint64_t{by} < registers) return wave.vector + (operand.reg + by) * uint64_t{kLanes};
  wave.raise("a register not allocated to the kernel, selected by the index in m0", op.address);
  return nullptr;
}

template <Shifts (*Of)(uint32_t)>
void move(const Op& op, Wave& wave) {
  const Shifts by = Of(wave.scalar[kM0]);
  const Lanes<uint32_t> scalar(op, op.source[0], wave);
  const bool in_registers = op.source[0].kind == Operand::Kind::Vector && by.source;
  const uint32_t* from = in_registers ? shifted(op, wave, op.source[0], by.source) : scalar.data;
  uint32_t* to = shifted(op, wave, op.destination, by.destination);
  if (from && to) write_lanes32(to, from, wave.exec());
}

void swap(const Op& op, Wave& wave) {
  const Shifts by = apart(wave.scalar[kM0]);
  uint32_t* a = shifted(op, wave, op.destination, by.destination);
  uint32_t* b = shifted(op, wave, op.source[0], by.source);
  if (!a || !b) return;
  for (int l = 0; l < kLanes; ++l)
    if (wave.exec() >> l & 1) std::swap(a[l], b[l]);
}

const Semantics kTable[] = {
    {"v_movrels_b32", move<of_source>, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_movreld_b32", move<of_destination>, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_movrelsd_b32", move<of_both>, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_movrelsd_2_b32", move<apart>, Unit::Valu, 1, Type::B32, {Type::B32}},
    {"v_swaprel_b32", swap, Unit::Valu, 1, Type::B32, {Type::B32}},
};

}  // namespace

std::span<const Semantics> vector_register_relative_semantics() { return kTable; }

}  // namespace rpd
