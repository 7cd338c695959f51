// The memory-attached last level (Infinity Cache): which lines are in it, from dispatch to dispatch.
//
// All XCDs share it, but they execute side by side on host threads; so that the outcome does not depend on those, it
// is asked once a dispatch, with each XCD's distinct lines taken in turn.
#pragma once

#include <cstdint>
#include <vector>

namespace rpd {

class Mall {
 public:
  Mall(uint64_t bytes, uint32_t ways);

  // Whether the line is there. Changes nothing.
  bool holds(uint64_t line) const;
  // True if the line was there. It is now.
  bool touch(uint64_t line);
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    uint32_t tag = 0;   // line / sets + 1; 0 is free
    uint32_t used = 0;  // time of last use
  };
  size_t first_of(uint64_t line) const { return (line ^ line / sets_) % sets_ * ways_; }
  uint32_t tag_of(uint64_t line) const { return static_cast<uint32_t>(line / sets_ + 1); }

  uint32_t ways_;
  uint64_t sets_;
  uint32_t now_ = 0;
  std::vector<Entry> entries_;  // [set][way], allocated at first use
};

}  // namespace rpd
