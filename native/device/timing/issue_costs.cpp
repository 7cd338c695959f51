#include "timing/issue_costs.h"

#include <algorithm>

#include "isa/semantics.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

// The number of matrix operations that a CU performs in one cycle. With several blocks, 64-bit, 16-bit and 8-bit types do not
// reach the rate of a single block.
long matrix_rate(Precision precision, bool several_blocks) {
  switch (precision) {
    case Precision::XF32: return parameter::matrix_xf32_per_cycle;
    case Precision::F32: return parameter::matrix_f32_per_cycle;
    case Precision::F64: return parameter::matrix_f64_per_cycle / (several_blocks ? 2 : 1);
    case Precision::I8:
    case Precision::F8:
    case Precision::F6F4: return several_blocks ? parameter::matrix_blocks_per_cycle : parameter::matrix_8bit_per_cycle;
    default: return several_blocks ? parameter::matrix_blocks_per_cycle : parameter::matrix_16bit_per_cycle;
  }
}

// The work per cycle, relative to gfx942's instructions. 6-bit and 4-bit formats, selected by CBSZ and BLGP values of 2 and
// above, run at twice the rate of 8-bit formats (MI355X data sheet).
long matrix_speedup(const Op& op) {
  const bool narrow = op.semantics->precision == Precision::F6F4 && op.matrix.broadcast_size > 1 && op.matrix.lane_pattern > 1;
  return (op.semantics->shape.doubled ? 2 : 1) * (narrow ? 2 : 1);
}

// The number of operations divided by the rate of one SIMD's matrix unit for this data type.
long matrix_cycles(const Op& op) {
  const MatrixShape& shape = op.semantics->shape;
  const long rate = matrix_rate(op.semantics->precision, shape.blocks > 1) * matrix_speedup(op) / (shape.half_rate ? 2 : 1);
  return std::max(4l, static_cast<long>(shape.operations()) * parameter::simds_per_cu / rate);
}

// The SIMD sends the data of 64 lanes to the LDS before the wave can proceed; sending only addresses takes no longer than
// issuing.
long lds_store_cycles(const Semantics& semantics) {
  const long bytes_a_lane = std::max(4l, static_cast<long>(semantics.bytes));
  return parameter::issue_cycles + 64 * bytes_a_lane / parameter::lds_store_bytes_per_cycle;
}

// The factor by which a vector instruction is slower on doubles than on singles. For Navi 21, AMD publishes 17.83 TFLOPS for
// singles and 1.11 for doubles (Radeon PRO W6800 data sheet).
long double_slowdown() { return target_of_device().rules.has_wave32 ? 16 : 1; }

long vector_cycles(const Semantics& semantics) {
  const bool transcendental = semantics.arithmetic == Arithmetic::Transcendental;
  const long cycles = transcendental ? parameter::transcendental_cycles : parameter::valu_cycles;
  return semantics.precision == Precision::F64 ? cycles * double_slowdown() : cycles;
}

long busy_cycles(const Op& op) {
  const Semantics& semantics = *op.semantics;
  if (semantics.unit == Unit::Matrix) return matrix_cycles(op);
  if (semantics.unit == Unit::Lds) {
    return semantics.stores ? lds_store_cycles(semantics) : parameter::issue_cycles;
  }
  return vector_cycles(semantics);
}

// The cycles for which an instruction keeps its wave idle: wait states of four cycles (recorded MI300X thread trace: s_nop 1
// takes 8), or sleep in units of 64 cycles [AMD CDNA 3 ISA].
long idle_cycles(const Op& op) {
  switch (op.semantics->idle) {
    case Idle::WaitStates: return parameter::issue_cycles * (1 + op.immediate % 16);
    case Idle::Sleep: return 64 * (op.immediate % 128);
    case Idle::None: return 0;
  }
  return 0;
}

}  // namespace

IssueCost issue_cost(const Op& op) {
  IssueCost cost;
  if (!op.semantics) return cost;
  const Unit unit = op.semantics->unit;
  cost.busy_cycles = static_cast<uint16_t>(busy_cycles(op));
  if (unit == Unit::Valu) cost.valu_quads = static_cast<uint8_t>(cost.busy_cycles / parameter::issue_cycles);
  // A matrix instruction issues in four cycles and then runs on a separate unit.
  if (unit == Unit::Matrix) {
    cost.valu_quads = 1;
    cost.matrix_cycles = cost.busy_cycles;
  }
  cost.changes_memory = changes_memory(*op.semantics);
  const bool holds_the_wave = unit == Unit::Valu || unit == Unit::Lds;
  cost.wave_cycles =
      static_cast<uint16_t>(holds_the_wave ? cost.busy_cycles : std::max<long>(parameter::issue_cycles, idle_cycles(op)));
  return cost;
}

void IssueCosts::follow(const Program& program) {
  if (const uint64_t revision = program.revision(); revision != revision_) {
    *this = {};
    revision_ = revision;
  }
  program.for_each_op(costs_.size(), [this](const Op& op) {
    const IssueCost cost = issue_cost(op);
    costs_.push_back(cost);
    ops_.push_back(&op);
    const Sums before = sums_.back();
    sums_.push_back({before.wave_cycles + cost.wave_cycles, before.vector_quads + cost.valu_quads,
                     before.matrix_cycles + cost.matrix_cycles, before.memory_changes + cost.changes_memory});
  });
}

}  // namespace rpd
