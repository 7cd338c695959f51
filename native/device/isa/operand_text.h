// Resolves the text of an operand into an Operand.
#pragma once

#include <optional>

#include "isa/instruction_text.h"
#include "isa/semantics.h"

namespace rpd {

// Returns nothing if the text is not an operand that the device knows. "off" gives Kind::None.
std::optional<Operand> resolve_operand(const OperandText& text, Type type);

}  // namespace rpd
