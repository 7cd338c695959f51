// The memory-attached last-level cache (MALL, Infinity Cache), whose contents are tracked across dispatches.
//
// All XCDs share this cache, but they execute in parallel on host threads. To keep the outcome independent of thread
// scheduling, its contents change only once per dispatch, at the end, when the lines that the XCDs have accessed are entered in
// turns (timing/mall_hits.cpp). During the dispatch it is only read.
#pragma once

#include <cstdint>

#include "memory/find_equal.h"
#include "memory/zeroed_array.h"

namespace rpd {

class Mall {
 public:
  static constexpr uint32_t kWays = 16;

  // If `bytes` is 0, there is no such cache.
  explicit Mall(uint64_t bytes);

  // Returns whether the line is in the cache. Changes nothing.
  bool holds(uint64_t line) const { return !tags_.empty() && same_words(&tags_[first_of(line)], tag_of(line)) != 0; }
  // Adds the line and returns whether it was already in the cache.
  bool touch(uint64_t line);
  void clear();
  // Prefetches into the host's cache the data that the functions above will read.
  void prefetch(uint64_t line) const {
    if (!tags_.empty()) __builtin_prefetch(&tags_[first_of(line)]);
  }

 private:
  size_t first_of(uint64_t line) const { return (line ^ line / sets_) % sets_ * kWays; }
  uint32_t tag_of(uint64_t line) const { return static_cast<uint32_t>(line / sets_ + 1); }

  uint64_t sets_;
  ZeroedArray<uint32_t> tags_;  // [set][way]: line / sets + 1, or 0 if free; allocated at first use
  ZeroedArray<uint8_t> ages_;  // [set][way]: how many lines of the set have been used since this one
};

}  // namespace rpd
