#include "isa/unmodified_operands.h"

#include <algorithm>

#include "isa/semantics.h"

namespace rpd {
namespace {

// In packed instructions, sign modifiers apply to each half separately.
bool changes_signs_of_halves(const Op& op) {
  const auto changes = [](const Operand& source) { return source.negate || source.absolute; };
  return op.semantics->packed && (op.negate_low || op.negate_high || std::any_of(op.source.begin(), op.source.end(), changes));
}

bool selects_part(const Operand& source) {
  return source.dpp || source.high_half || source.sign_extend || source.select != Select::Dword;
}

}  // namespace

bool has_plain_form(const Op& op) {
  return op.semantics && op.semantics->plain && !op.clamp && !op.permutation && !op.destination_high &&
         op.destination_select == Select::Dword && !changes_signs_of_halves(op) &&
         std::none_of(op.source.begin(), op.source.end(), selects_part);
}

}  // namespace rpd
