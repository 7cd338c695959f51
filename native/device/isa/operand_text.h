// From the text of an operand to a resolved Operand.
#pragma once

#include <optional>

#include "isa/instruction_text.h"
#include "isa/semantics.h"

namespace rpd {

// Nothing if the text is no operand that the device knows. "off" gives Kind::None.
std::optional<Operand> resolve_operand(const OperandText& text, Type type);

}  // namespace rpd
