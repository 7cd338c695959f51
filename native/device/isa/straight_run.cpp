#include "isa/straight_run.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "isa/semantics.h"

namespace rpd {
namespace {

bool may_write_exec(const Operand& destination) {
  return destination.kind == Operand::Kind::Scalar && destination.reg + 1 >= kExec;  // also as the second register of a pair
}

// Goes by the mnemonic: v_cmpx and s_and_saveexec write EXEC; s_setreg, s_set_gpr_idx, s_getreg and s_getpc access other state;
// *_movrel and v_swaprel may fault.
bool concerns_state(std::string_view mnemonic) {
  const auto has = [&](std::string_view part) { return mnemonic.find(part) != std::string_view::npos; };
  return has("cmpx") || has("exec") || has("s_set") || has("s_get") || has("movrel") || has("swaprel");
}

}  // namespace

bool only_computes(const Op& op) {
  if (!op.semantics || op.ends_slice || !op.next) return false;
  const Unit unit = op.semantics->unit;
  return (unit == Unit::Valu || unit == Unit::Salu || unit == Unit::Matrix) && !may_write_exec(op.destination) &&
         !may_write_exec(op.scalar_destination) && !concerns_state(op.semantics->mnemonic);
}

StraightRun straight_run_from(const Op& op) {
  if (!only_computes(op)) return {};
  StraightRun run = op.next->index == op.index + 1 ? op.next->run : StraightRun{};
  if (run.length == std::numeric_limits<uint16_t>::max()) run = {};
  return {static_cast<uint16_t>(run.length + 1), std::max(run.vector_registers, op.vector_registers),
          std::max(run.accumulators, op.accumulators)};
}

}  // namespace rpd
