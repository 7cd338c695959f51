// How long an access keeps the banks of the LDS busy.
#pragma once

#include <array>
#include <cstdint>

#include "exec/instruction_events.h"

namespace rpd {

struct LdsPasses {
  uint64_t passes = 0;          // in which any lane is active
  uint64_t cycles = 0;          // of all passes
  uint64_t bank_conflicts = 0;  // cycles spent on further words of the same bank
};

LdsPasses lds_passes(const VectorAccess& access);

// Remembers the last access of up to kKept instructions. Shifting all addresses by a whole number of words only rotates the
// banks, so only the lanes' distances from each other matter, and these usually stay the same when an instruction is executed
// again.
class LdsPatterns {
 public:
  LdsPasses passes(const Op& op, const VectorAccess& access);

 private:
  struct Pattern {
    uint64_t mask = 0;  // 0: none
    uint32_t bytes = 0;
    AccessKind kind = AccessKind::Load;
    LdsPasses passes;
    alignas(64) std::array<uint32_t, kLanes> words{};  // each lane's word, relative to that of the first active lane
  };
  static constexpr uint32_t kKept = 32;
  std::array<Pattern, kKept> kept_;  // [Op::index % kKept]
};

}  // namespace rpd
