// The plain form of vector instructions: no DPP, no selected part of a register, no clamp. The signs of sources may be changed.
#pragma once

#include "isa/op.h"

namespace rpd {

// Whether the instruction can be executed by its Semantics' `plain`.
bool has_plain_form(const Op& op);

}  // namespace rpd
