// A write-back cache: tags, and which bytes of each line are there and dirty, but no data.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "memory/tags.h"
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
  // Within the line.
  static ByteMask range(uint64_t begin, uint64_t bytes) {
    const uint64_t end = begin + bytes;
    return {first(end) & ~first(begin), end > 64 ? first(end - 64) & ~first(begin > 64 ? begin - 64 : 0) : 0};
  }

 private:
  static uint64_t first(uint64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }
};

// The number of requests that it takes to write these bytes: a half line with both 32-byte sectors touched goes as one
// 64-byte request, a single sector as one of 32 bytes.
struct WriteRequests {
  uint32_t bytes64 = 0, bytes32 = 0;
};
WriteRequests write_requests(const ByteMask& dirty);

template <uint32_t Ways>
class Cache {
 public:
  struct Line {
    uint64_t number = 0;
    ByteMask valid;
    ByteMask dirty;
  };
  struct Allocated {
    Line& line;
    bool evicts;
  };

  explicit Cache(uint32_t bytes) : tags_(bytes / kLineBytes), lines_(bytes / kLineBytes) {}

  // The line, or null.
  Line* find(uint64_t number) {
    const size_t place = tags_.find(number);
    return place == kNowhere ? nullptr : &lines_[place];
  }
  // Makes room for the line; `evicted` receives the line that was there before, if any.
  Allocated allocate(uint64_t number, Line& evicted) {
    const auto [place, evicts] = tags_.allocate(number);
    Line& line = lines_[place];
    if (evicts) evicted = line;
    line = {number, {}, {}};
    return {line, evicts};
  }
  // The line found or allocated last is the next of its set to make room, unless it is used again.
  void expect_no_reuse() { tags_.expect_no_reuse(); }
  // Drops all lines in constant time.
  void invalidate() {
    tags_.invalidate();
    dirty_.clear();
  }
  // If the line is there, it keeps its place but none of its bytes: something else has written them.
  void make_stale(uint64_t number) {
    const size_t place = tags_.look_up(number);
    if (place != kNowhere) lines_[place].valid = lines_[place].dirty;
  }
  // Calls f(line) for every line that is there.
  template <class F>
  void for_each(F f) {
    tags_.for_each([&](size_t place) { f(lines_[place]); });
  }
  size_t capacity() const { return tags_.capacity(); }
  // Fetches into the host's cache what a search for the line reads.
  void prefetch(uint64_t number) const { tags_.prefetch(number); }
  // Calls f(line) for every dirty line and cleans it.
  template <class F>
  void write_back(F f) {
    for (const uint32_t place : dirty_) {
      Line& line = lines_[place];
      if (line.dirty.empty()) continue;
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
  Tags<Ways> tags_;
  ZeroedArray<Line> lines_;      // by place
  std::vector<uint32_t> dirty_;  // lines that became dirty since the last write-back; may repeat
};

}  // namespace rpd
