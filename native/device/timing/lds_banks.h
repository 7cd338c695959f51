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
  using Distances = std::array<uint32_t, kLanes>;

  LdsPasses passes(const Op& op, const VectorAccess& access);

 private:
  struct Pattern {
    uint64_t mask = 0;  // 0: none
    uint32_t bytes = 0;
    AccessKind kind = AccessKind::Load;
    LanePattern pattern = LanePattern::Any;
    uint32_t step = 0;  // for LanePattern::Rows
    LdsPasses passes;
    alignas(64) Distances distances{};  // of the lanes from the first active one or, for LanePattern::Rows, of the rows

    // Whether the access is the same apart from the addresses.
    bool is_like(const VectorAccess& access) const {
      return mask == access.mask && bytes == access.bytes && kind == access.kind && pattern == access.pattern &&
             step == access.step;
    }
  };
  static constexpr uint32_t kRecent = 32;
  std::array<Pattern, kRecent> recent_;  // [Op::index % kRecent]
};

}  // namespace rpd
