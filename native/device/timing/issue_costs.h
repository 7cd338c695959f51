// How long an instruction keeps its unit and its wave busy.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/program.h"

namespace rpd {

struct IssueCost {
  uint16_t matrix_cycles = 0;  // time that a matrix instruction keeps the matrix unit busy; 0 for others
  uint16_t busy_cycles = 0;    // time that a vector, matrix or LDS instruction keeps its unit busy
  uint16_t wave_cycles = 0;    // least time until the same wave can issue its next instruction
  uint8_t valu_quads = 0;      // quad-cycles that a VALU instruction takes to issue; 0 for others
  bool changes_memory = false; // if it has active lanes
};

IssueCost issue_cost(const Op& op);

// The costs of a program's instructions, indexed by Op::index. Not thread-safe.
class IssueCosts {
 public:
  // The summed costs of all instructions before a given one, or of a run of instructions.
  struct Sums {
    uint32_t wave_cycles = 0, vector_quads = 0, matrix_cycles = 0;
    uint32_t memory_changes = 0;  // instructions that change memory
  };

  IssueCosts() : sums_(1) {}

  // Switches to this program and computes the costs of all instructions decoded so far.
  void follow(const Program& program);

  size_t count() const { return costs_.size(); }
  const IssueCost& of(const Op& op) const { return costs_[op.index]; }
  const Op& op(uint32_t index) const { return *ops_[index]; }
  // Sums over the instructions in [first, end).
  uint32_t wave_cycles(uint32_t first, uint32_t end) const { return sums_[end].wave_cycles - sums_[first].wave_cycles; }
  Sums of_run(uint32_t first, uint32_t end) const {
    const Sums &from = sums_[first], &until = sums_[end];  // the sums may have wrapped around, but the difference is right
    return {until.wave_cycles - from.wave_cycles, until.vector_quads - from.vector_quads,
            until.matrix_cycles - from.matrix_cycles, until.memory_changes - from.memory_changes};
  }

 private:
  uint64_t revision_ = 0;
  std::vector<IssueCost> costs_;
  std::vector<const Op*> ops_;
  std::vector<Sums> sums_;  // one more element than costs_
};

}  // namespace rpd
