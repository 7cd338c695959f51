// Runs of instructions that need no checks between them.
#pragma once

#include "isa/op.h"

namespace rpd {

// Whether the instruction only computes on registers: it always continues with the next instruction, cannot fault, and does not
// change EXEC, MODE or anything else that observers watch.
bool only_computes(const Op& op);

// The run that begins with `op`. `op.next` must be linked; if it is also the next Op in the Program, its `run` must be set.
StraightRun straight_run_from(const Op& op);

}  // namespace rpd
