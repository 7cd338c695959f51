// Executes instructions as the MODE register prescribes.
#pragma once

#include "exec/float_mode.h"
#include "exec/register_indexing.h"
#include "isa/semantics.h"

namespace rpd {

inline void execute_by_mode(const Op& op, Wave& wave) {
  const bool in_mode = has_unusual_floats(wave.mode) && op.semantics && op.semantics->in_mode;
  (in_mode ? op.semantics->in_mode : op.execute)(op, wave);
}

// Whether `execute` implements every instruction in this mode: floating point works as usual, and register indexing is off.
inline bool is_usual(uint32_t mode) { return ((mode ^ kModeDenormals) & (kModeFloat | kModeGprIndex)) == 0; }

inline void execute(const Op& op, Wave& wave) {
  if (is_usual(wave.mode)) [[likely]]
    return op.execute(op, wave);
  if (wave.mode & kModeGprIndex) return execute_indexed(op, wave);
  execute_by_mode(op, wave);
}

// Executes the first `count` instructions of the run that begins with `op`, in the usual mode. Returns the next instruction.
inline const Op* execute_run(const Op* op, uint32_t count, Wave& wave) {
  for (; count > 0; --count) {
    op->execute(*op, wave);
    op = op->next;
  }
  return op;
}

}  // namespace rpd
