// The address translations that a CU's vector L1 keeps (AMD's name: UTCL1). Missing translations come from the next level
// (UTCL2), which takes time: in recorded pointer chases, latency grows once the data reaches 64 MB.
#pragma once

#include <bit>

#include "exec/instruction_events.h"
#include "memory/tags.h"
#include "timing_parameters.inc.h"

namespace rpd {

class L1Tlb {
 public:
  // Returns how many of the pages that the access touches have no translation here, and adds the missing translations.
  uint32_t misses(const VectorAccess& access) {
    switch (access.pattern) {
      case LanePattern::Consecutive: return misses(access.first, uint64_t{access.bytes} * kLanes);
      case LanePattern::Same: return misses(access.first, access.bytes);
      case LanePattern::Any: return misses_of_lanes(access);
      case LanePattern::Rows: return misses_of_rows(access);
    }
    return 0;
  }
  void invalidate() {
    pages_.invalidate();
    latest_ = kNone;
  }

 private:
  static uint64_t page_of(uint64_t address) { return address / parameter::l1_tlb_page_bytes; }

  uint32_t misses(uint64_t address, uint64_t bytes) {
    const uint64_t first = page_of(address), last = page_of(address + bytes - 1);
    if (first == latest_ && last == latest_) [[likely]]
      return 0;
    uint32_t count = 0;
    for (uint64_t page = first; page <= last; ++page) {
      if (pages_.find(page) != kNotFound) continue;
      pages_.allocate(page);
      ++count;
    }
    latest_ = last;
    return count;
  }

  uint32_t misses_of_rows(const VectorAccess& access) {
    uint32_t count = 0;
    for (int row = 0; row < kRows; ++row) count += misses(access.address[row], access.row_bytes());
    return count;
  }

  // In most accesses, all lanes fall on the same page.
  uint32_t misses_of_lanes(const VectorAccess& access) {
    const uint64_t first = access.address[std::countr_zero(access.mask)];
    uint64_t differing = 0;  // address bits
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t begin = access.address[l], end = begin + access.bytes - 1;
      differing |= ((begin ^ first) | (end ^ first)) & (uint64_t{0} - (access.mask >> l & 1));
    }
    if (page_of(differing) == 0) return misses(first, 1);
    uint32_t count = 0;
    for (uint64_t remaining = access.mask; remaining; remaining &= remaining - 1)
      count += misses(access.address[std::countr_zero(remaining)], access.bytes);
    return count;
  }

  static constexpr uint64_t kNone = ~uint64_t{0};
  Tags<parameter::l1_tlb_entries> pages_{parameter::l1_tlb_entries};
  uint64_t latest_ = kNone;  // the most recently used page
};

}  // namespace rpd
