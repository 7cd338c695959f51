// How long an instruction keeps its unit and its wave busy.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/program.h"

namespace rpd {

struct IssueCost {
  uint16_t matrix_cycles = 0;  // that it keeps the matrix unit busy; 0 for others
  uint16_t busy_cycles = 0;    // that a vector or matrix instruction keeps its unit busy
  uint16_t wave_cycles = 0;    // until the same wave can issue its next instruction, at the earliest
  uint8_t valu_quads = 0;      // quad-cycles that a VALU instruction takes to issue; 0 for others
};

IssueCost issue_cost(const Op& op);

// Those of a program's instructions, by Op::index. For one thread.
class IssueCosts {
 public:
  // Of all instructions before one, or of a run of them.
  struct Sums {
    uint32_t wave_cycles = 0, vector_quads = 0, matrix_cycles = 0;
  };

  IssueCosts() : sums_(1) {}

  // From now on of this program, with all that it has decoded.
  void follow(const Program& program);

  size_t count() const { return costs_.size(); }
  const IssueCost& of(const Op& op) const { return costs_[op.index]; }
  const Op& op(uint32_t index) const { return *ops_[index]; }
  // Of the instructions from `first` on, before `end`.
  uint32_t wave_cycles(uint32_t first, uint32_t end) const { return sums_[end].wave_cycles - sums_[first].wave_cycles; }
  Sums of_run(uint32_t first, uint32_t end) const {
    const Sums &from = sums_[first], &until = sums_[end];  // they may have wrapped around; the difference has not
    return {until.wave_cycles - from.wave_cycles, until.vector_quads - from.vector_quads,
            until.matrix_cycles - from.matrix_cycles};
  }

 private:
  uint64_t revision_ = 0;
  std::vector<IssueCost> costs_;
  std::vector<const Op*> ops_;
  std::vector<Sums> sums_;  // one more
};

}  // namespace rpd
