#include "memory/cache.h"

#include <algorithm>
#include <bit>
#include <cassert>

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
  const uint64_t folded = line_number ^ line_number >> set_bits_ ^ line_number >> set_bits_ >> set_bits_;
  return static_cast<uint32_t>(folded & ((uint64_t{1} << set_bits_) - 1));
}

Cache::Cache(uint32_t bytes, uint32_t ways, uint32_t line_bytes)
    : ways_(ways),
      set_bits_(static_cast<uint32_t>(std::countr_zero(bytes / line_bytes / ways))),
      keys_(bytes / line_bytes),
      used_(bytes / line_bytes),
      lines_(bytes / line_bytes) {
  assert(std::has_single_bit(bytes / line_bytes / ways));
}

void Cache::invalidate() {
  if (++epoch_ < uint64_t{1} << (64 - kNumberBits)) return;
  epoch_ = 1;
  std::fill(keys_.begin(), keys_.end(), 0);
}

inline int64_t Cache::index_of(uint64_t line_number) const {
  const uint64_t key = key_of(line_number);
  const size_t first = size_t{set_of(line_number)} * ways_;
  int64_t found = -1;
  for (size_t at = first; at < first + ways_; ++at) found = keys_[at] == key ? static_cast<int64_t>(at) : found;
  return found;
}

Cache::Line* Cache::find(uint64_t line_number) {
  if (keys_[last_] != key_of(line_number)) {
    const int64_t found = index_of(line_number);
    if (found < 0) return nullptr;
    last_ = static_cast<size_t>(found);
  }
  used_[last_] = ++now_;
  return &lines_[last_];
}

void Cache::make_stale(uint64_t line_number) {
  const int64_t found = index_of(line_number);
  if (found >= 0) lines_[static_cast<size_t>(found)].valid = lines_[static_cast<size_t>(found)].dirty;
}

Cache::Line& Cache::allocate(uint64_t line_number, Line& evicted) {
  const size_t victim = victim_of(size_t{set_of(line_number)} * ways_);
  const bool present = keys_[victim] >> kNumberBits == epoch_;
  evicted = present ? lines_[victim] : Line{};
  keys_[victim] = key_of(line_number);
  used_[victim] = ++now_;
  lines_[victim] = Line{line_number, true, 0, {}, {}};
  return lines_[last_ = victim];
}

// The first free way of the set, else the least recently used one.
size_t Cache::victim_of(size_t first) const {
  size_t victim = first;
  for (size_t at = first; at < first + ways_; ++at) {
    if (keys_[at] >> kNumberBits != epoch_) return at;
    if (used_[at] < used_[victim]) victim = at;
  }
  return victim;
}

}  // namespace rpd
