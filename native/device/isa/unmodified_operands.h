// The plain form of vector instructions: no DPP, no operand that is only part of a register (SDWA, op_sel), no clamp. Sign
// modifiers on the sources are allowed unless the instruction is packed.
#pragma once

#include "isa/op.h"

namespace rpd {

// Whether the instruction can be executed by the `plain` function of its Semantics.
bool has_plain_form(const Op& op);

}  // namespace rpd
