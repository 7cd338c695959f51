// Register indexing mode (s_set_gpr_idx_on): while it is on, M0 is an offset for the vector registers of VALU instructions.
#pragma once

#include "exec/wave.h"

namespace rpd {

// Bits of M0 that the mode reads: the index, and the operands to which it applies.
constexpr uint32_t kGprIndexMask = 0xff;
constexpr unsigned kGprIndexEnables = 12;  // bits 15:12: sources 0, 1, 2, destination

// Returns `op` with the registers that it uses in this mode, or unchanged if the mode does not affect it.
Op with_index(const Op& op, const Wave& wave);

// Executes `op` with its vector registers offset. Raises a fault if one of them is then outside the wave's registers.
void execute_indexed(const Op& op, Wave& wave);

}  // namespace rpd
