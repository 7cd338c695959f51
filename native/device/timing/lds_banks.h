// How long an access keeps the banks of the LDS busy.
#pragma once

#include <array>
#include <cstdint>

#include "exec/instruction_events.h"

namespace rpd {

struct LdsPasses {
  uint64_t passes = 0;          // in which any lane takes part
  uint64_t cycles = 0;          // of all passes
  uint64_t bank_conflicts = 0;  // cycles spent on further words of the same bank
};

LdsPasses lds_passes(const VectorAccess& access);

// Remembers the last accesses of each instruction. Moving all addresses by whole words turns the banks round but changes
// nothing else, so what counts is where the lanes are relative to each other; and that mostly stays the same when an
// instruction is executed again.
class LdsPatterns {
 public:
  LdsPasses passes(const Op& op, const VectorAccess& access);

 private:
  struct Pattern {
    uint64_t mask = 0;  // 0: none
    uint32_t bytes = 0;
    AccessKind kind = AccessKind::Load;
    LdsPasses passes;
    alignas(64) std::array<uint32_t, kLanes> words{};  // of each lane, relative to that of the first one
  };
  static constexpr uint32_t kKept = 32;
  std::array<Pattern, kKept> kept_;  // [Op::index % kKept]
};

}  // namespace rpd
