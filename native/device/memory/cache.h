// A set-associative cache with least-recently-used replacement: tags only, no data.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "memory/zeroed_array.h"

namespace rpd {

constexpr uint32_t kLineBytes = 128;

// Bytes of a line, one bit each.
struct ByteMask {
  uint64_t low = 0, high = 0;
  bool covers(const ByteMask& other) const { return !(other.low & ~low) && !(other.high & ~high); }
  bool empty() const { return !low && !high; }
  bool full() const { return !~low && !~high; }
  void add(const ByteMask& other) {
    low |= other.low;
    high |= other.high;
  }
  static ByteMask all() { return {~0ull, ~0ull}; }
  static ByteMask range(uint32_t begin, uint32_t bytes);  // within the line
};

// The number of requests that it takes to write these bytes: a half line with both 32-byte sectors touched goes as one
// 64-byte request, a single sector as one of 32 bytes.
struct WriteRequests {
  uint32_t bytes64 = 0, bytes32 = 0;
};
WriteRequests write_requests(const ByteMask& dirty);

class Cache {
 public:
  struct Line {
    uint64_t tag = 0;
    bool present = false;
    uint32_t fetch = 0;  // for the owner of the cache: what brought the line here
    ByteMask valid;
    ByteMask dirty;
  };

  Cache(uint32_t bytes, uint32_t ways, uint32_t line_bytes = kLineBytes);

  // The line, or null.
  Line* find(uint64_t line_number);
  // Makes room for the line; `evicted` receives the line that was there before, if any.
  Line& allocate(uint64_t line_number, Line& evicted);
  // The line found or allocated last is the next of its set to make room, unless it is used again.
  void expect_no_reuse() { used_[last_] = 0; }
  // Drops all lines in constant time.
  void invalidate();
  // If the line is there, it keeps its place but none of its bytes: something else has written them.
  void make_stale(uint64_t line_number);
  // Calls f(line) for every line that is there.
  template <class F>
  void for_each(F f) {
    for (size_t i = 0; i < keys_.size(); ++i)
      if (keys_[i] >> kNumberBits == epoch_) f(lines_[i]);
  }
  size_t capacity() const { return keys_.size(); }
  // Calls f(line) for every dirty line and cleans it.
  template <class F>
  void write_back(F f) {
    for (const uint32_t index : dirty_) {
      Line& line = lines_[index];
      if (keys_[index] != key_of(line.tag) || line.dirty.empty()) continue;
      f(line);
      line.dirty = {};
    }
    dirty_.clear();
  }
  void mark_dirty(Line& line, const ByteMask& bytes) {
    if (line.dirty.empty()) dirty_.push_back(static_cast<uint32_t>(&line - lines_.data()));
    line.dirty.add(bytes);
  }

 private:
  uint32_t set_of(uint64_t line_number) const;
  // Where the line is, or -1.
  int64_t index_of(uint64_t line_number) const;
  size_t victim_of(size_t first) const;
  // Identifies the line that a way holds: its number and the epoch. A new epoch begins when all lines are dropped. Host and
  // device addresses have fewer than 57 bits, so line numbers have fewer than 50.
  static constexpr int kNumberBits = 50;
  uint64_t key_of(uint64_t line_number) const { return epoch_ << kNumberBits | line_number; }

  uint32_t ways_;
  uint32_t set_bits_;
  uint64_t epoch_ = 1;
  uint64_t now_ = 0;
  size_t last_ = 0;              // the way found last
  ZeroedArray<uint64_t> keys_;   // [set][way]: kept apart from the lines because a search reads nothing else
  ZeroedArray<uint64_t> used_;   // [set][way]: time of last use
  ZeroedArray<Line> lines_;      // [set][way]
  std::vector<uint32_t> dirty_;  // lines that became dirty since the last write-back; may repeat
};

}  // namespace rpd
