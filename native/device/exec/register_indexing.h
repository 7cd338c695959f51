// Register indexing mode (s_set_gpr_idx_on): while it is on, M0 moves the vector registers that a VALU instruction names.
#pragma once

#include "exec/wave.h"

namespace rpd {

// Bits of M0 that the mode reads: the index, and which operands it applies to.
constexpr uint32_t kGprIndexMask = 0xff;
constexpr unsigned kGprIndexEnables = 12;  // bits 15:12: sources 0, 1, 2, destination

// `op` with the registers that it uses in this mode, or as it is.
Op with_index(const Op& op, const Wave& wave);

// Executes `op` with its vector registers moved. Raises a fault where a register is then outside of the wave's own.
void execute_indexed(const Op& op, Wave& wave);

}  // namespace rpd
