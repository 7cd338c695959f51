// Executes one instruction in the way that the MODE register prescribes.
#pragma once

#include "exec/float_mode.h"
#include "exec/register_indexing.h"
#include "isa/semantics.h"

namespace rpd {

inline void execute_by_mode(const Op& op, Wave& wave) {
  const bool in_mode = has_unusual_floats(wave.mode) && op.semantics && op.semantics->in_mode;
  (in_mode ? op.semantics->in_mode : op.execute)(op, wave);
}

inline void execute(const Op& op, Wave& wave) {
  if (((wave.mode ^ kModeDenormals) & (kModeFloat | kModeGprIndex)) == 0) [[likely]]
    return op.execute(op, wave);
  if (wave.mode & kModeGprIndex) return execute_indexed(op, wave);
  execute_by_mode(op, wave);
}

}  // namespace rpd
