// Loads from memory directly into the LDS: each lane fills one dword (or, on gfx950, three or four), in lane order.
#pragma once

#include <bit>
#include <cstring>

#include "exec/instruction_events.h"
#include "exec/lds_range_check.h"

namespace rpd {

// Lane l's dwords are at M0[15:0] + the instruction's offset + their size * l (CDNA3 ISA, "Memory Buffer Load to LDS"). Targets
// with a larger LDS use as many bits of M0 as the LDS's size requires.
class LdsTransfer {
 public:
  LdsTransfer(const Op& op, Wave& wave, uint32_t bytes = sizeof(uint32_t))
      : op_(op), wave_(wave), bytes_(bytes), begin_((wave.scalar[kM0] & base_mask()) + static_cast<uint32_t>(op.offset)) {}

  void store(int lane, uint32_t value) { store(lane, &value); }
  void store(int lane, const void* values) {
    address_[lane] = static_cast<uint32_t>(begin_ + bytes_ * static_cast<uint32_t>(lane));
    if (!in_lds(wave_, address_[lane], bytes_)) {
      may_leave_lds(wave_, address_[lane], lane);
      return;
    }
    std::memcpy(wave_.lds + address_[lane], values, bytes_);
    lanes_ |= uint64_t{1} << lane;
  }

  void finish() {
    if (lanes_) wave_.observer->vector_access(wave_, op_, {AccessKind::Store, Space::Lds, bytes_, lanes_, address_});
  }

 private:
  static uint32_t base_mask() { return std::bit_ceil(target_of_device().lds_bytes_per_workgroup) - 1; }

  const Op& op_;
  Wave& wave_;
  uint32_t bytes_;
  uint32_t begin_;
  uint64_t lanes_ = 0;
  uint64_t address_[kLanes] = {};
};

}  // namespace rpd
