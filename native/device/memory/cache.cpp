#include "memory/cache.h"

#include <algorithm>

namespace rpd {

ByteMask ByteMask::range(uint32_t begin, uint32_t bytes) {
  const auto part = [](uint32_t first, uint32_t last) -> uint64_t {  // bits [first, last) of 64
    if (last <= first) return 0;
    const uint64_t upto = last >= 64 ? ~0ull : (uint64_t{1} << last) - 1;
    return upto & ~((uint64_t{1} << first) - 1);
  };
  const uint32_t end = begin + bytes;
  return {begin < 64 ? part(begin, std::min(end, 64u)) : 0, end > 64 ? part(begin > 64 ? begin - 64 : 0, end - 64) : 0};
}

WriteRequests write_requests(const ByteMask& dirty) {
  WriteRequests out;
  for (const uint64_t half : {dirty.low, dirty.high}) {
    const bool first = half & 0xffffffffull;
    const bool second = half >> 32;
    out.bytes64 += first && second;
    out.bytes32 += first != second;
  }
  return out;
}

// Folds the upper address bits into the set number, so that power-of-two strides do not pile up in a few sets. The
// hardware's own hash is not published.
uint32_t Cache::set_of(uint64_t line_number) const {
  const uint64_t folded = line_number ^ line_number / sets_ ^ line_number / sets_ / sets_;
  return static_cast<uint32_t>(folded % sets_);
}

Cache::Cache(uint32_t bytes, uint32_t ways, uint32_t line_bytes)
    : ways_(ways), sets_(bytes / line_bytes / ways), lines_(bytes / line_bytes) {}

Cache::Line* Cache::find(uint64_t line_number) {
  Line* set = &lines_[set_of(line_number) * ways_];
  for (uint32_t way = 0; way < ways_; ++way) {
    if (set[way].tag == line_number && set[way].epoch == epoch_) {
      set[way].used = ++now_;
      return &set[way];
    }
  }
  return nullptr;
}

Cache::Line& Cache::allocate(uint64_t line_number, Line& evicted) {
  Line* set = &lines_[set_of(line_number) * ways_];
  Line* victim = set;
  for (uint32_t way = 0; way < ways_; ++way) {
    if (set[way].epoch != epoch_) {
      victim = &set[way];
      break;
    }
    if (set[way].used < victim->used) victim = &set[way];
  }
  evicted = victim->epoch == epoch_ ? *victim : Line{};
  *victim = Line{line_number, ++now_, epoch_, {}, {}};
  return *victim;
}

}  // namespace rpd
