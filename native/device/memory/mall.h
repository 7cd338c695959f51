// The memory-attached last level (Infinity Cache): which lines it holds, from dispatch to dispatch.
//
// All XCDs share it, but they execute in parallel on host threads. To keep the outcome independent of thread scheduling, it
// is consulted once per dispatch, taking each XCD's distinct lines in turn.
#pragma once

#include <cstdint>

#include "memory/zeroed_array.h"

namespace rpd {

class Mall {
 public:
  Mall(uint64_t bytes, uint32_t ways);

  // Returns whether the line is there. Changes nothing.
  bool holds(uint64_t line) const;
  // Returns whether the line was there, and enters it.
  bool touch(uint64_t line);
  void clear() { entries_ = {}; }

 private:
  struct Entry {
    uint32_t tag = 0;   // line / sets + 1, or 0 if free
    uint32_t used = 0;  // time of last use
  };
  size_t first_of(uint64_t line) const { return (line ^ line / sets_) % sets_ * ways_; }
  uint32_t tag_of(uint64_t line) const { return static_cast<uint32_t>(line / sets_ + 1); }

  uint32_t ways_;
  uint64_t sets_;
  uint32_t now_ = 0;
  ZeroedArray<Entry> entries_;  // [set][way], allocated at first use
};

}  // namespace rpd
