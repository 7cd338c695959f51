// Which unit an instruction occupies, and for how long.
#pragma once

#include "isa/op.h"

namespace rpd {

enum class IssueUnit : uint8_t { Vector, Scalar, VectorMemory, Lds };
constexpr int kIssueUnits = 4;

// Fills in the timing fields of a freshly decoded Op.
void annotate_cost(Op& op);

}  // namespace rpd
