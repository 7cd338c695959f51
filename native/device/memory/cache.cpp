#include "memory/cache.h"

#include <algorithm>

namespace rpd {

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

Cache::Cache(uint32_t bytes, uint32_t ways) : tags_(bytes / kLineBytes, ways), lines_(bytes / kLineBytes) {}

void Cache::invalidate() {
  tags_.invalidate();
  dirty_.clear();
}

void Cache::make_stale(uint64_t number) {
  const size_t place = tags_.look_up(number);
  if (place != Tags::kNowhere) lines_[place].valid = lines_[place].dirty;
}

Cache::Allocated Cache::allocate(uint64_t number, Line& evicted) {
  const auto [place, evicts, _] = tags_.allocate(number);
  Line& line = lines_[place];
  if (evicts) evicted = line;
  line = {number, {}, {}};
  return {line, evicts};
}

}  // namespace rpd
