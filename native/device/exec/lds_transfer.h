// Loads from memory directly into the LDS: each lane fills one dword, in lane order.
#pragma once

#include <cstring>

#include "exec/lds_range.h"
#include "exec/observer.h"

namespace rpd {

// Lane l's dword is at M0[15:0] + the instruction's offset + 4 * l (CDNA3 ISA, "Memory Buffer Load to LDS").
class LdsTransfer {
 public:
  LdsTransfer(const Op& op, Wave& wave)
      : op_(op), wave_(wave), begin_((wave.scalar[kM0] & 0xffff) + static_cast<uint32_t>(op.offset)) {}

  void store(int lane, uint32_t value) {
    address_[lane] = static_cast<uint32_t>(begin_ + 4 * lane);
    if (!in_lds(wave_, address_[lane], sizeof value)) {
      may_leave_lds(wave_, address_[lane], lane);
      return;
    }
    std::memcpy(wave_.lds + address_[lane], &value, sizeof value);
    lanes_ |= uint64_t{1} << lane;
  }

  void finish() {
    if (lanes_) wave_.observer->vector_access(wave_, op_, {AccessKind::Store, Space::Lds, sizeof(uint32_t), lanes_, address_});
  }

 private:
  const Op& op_;
  Wave& wave_;
  uint32_t begin_;
  uint64_t lanes_ = 0;
  uint64_t address_[kLanes] = {};
};

}  // namespace rpd
