// Runs of instructions between which nothing has to be checked.
#pragma once

#include "isa/op.h"

namespace rpd {

// Whether the instruction does nothing but compute with registers: it always continues with the next one, cannot fault, and
// leaves exec, MODE and whatever observers watch as they are.
bool only_computes(const Op& op);

// The run that begins with the Op, whose `next` is linked and, if it is the next in the Program too, has its own run.
StraightRun straight_run_from(const Op& op);

}  // namespace rpd
