// Decodes an instruction from its text and raw bits into an Op.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "isa/disassembler.h"
#include "isa/op.h"

namespace rpd {

struct DecodedInstruction {
  Op op;                                          // next and target are not linked yet
  std::unique_ptr<LanePermutation> permutation;   // owns what op.permutation points to
  uint64_t target = 0;                            // address of a direct branch's target, or 0
  std::string problem;                            // why the instruction cannot run; empty if it can
};

// `raw` points to the instruction's bytes. If the device cannot execute the instruction, `problem` is set.
DecodedInstruction decode(const DisassembledInstruction& instruction, const uint32_t* raw, uint64_t address);

}  // namespace rpd
