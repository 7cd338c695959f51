// The plain form of vector instructions: no DPP, no part of a register as an operand
// (SDWA, op_sel), no clamp. Unless the instruction is packed, the signs of sources may be changed.
#pragma once

#include "isa/op.h"

namespace rpd {

// Whether the instruction can be executed by its Semantics' `plain`.
bool has_plain_form(const Op& op);

}  // namespace rpd
