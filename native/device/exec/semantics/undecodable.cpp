// The functions executed at addresses that hold no instruction the device can execute.
#include "exec/wave.h"
#include "isa/semantics.h"

namespace rpd {

void refuse_instruction(const Op& op, Wave& wave) { wave.raise("illegal instruction", op.address); }

void refuse_fetch(const Op& op, Wave& wave) {
  wave.raise("instruction fetch from memory that is not mapped", op.address, FaultKind::MemoryFault);
}

}  // namespace rpd
