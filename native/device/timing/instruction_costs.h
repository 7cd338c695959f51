// How long an instruction keeps its unit busy.
#pragma once

#include "isa/op.h"

namespace rpd {

// Fills in the timing fields of a freshly decoded Op.
void annotate_cost(Op& op);

}  // namespace rpd
