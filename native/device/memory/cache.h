// A model of a write-back cache: it holds the tag of each line and which of the line's bytes are valid or dirty, but no data.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "memory/tags.h"
#include "memory/zeroed_array.h"

namespace rpd {

constexpr uint32_t kLineBytes = 128;

// A set of bytes in a line, with one bit for each byte.
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

// The number of requests needed to write these bytes: a half line in which both 32-byte sectors are touched takes one 64-byte
// request; a single sector takes one 32-byte request.
struct WriteRequests {
  uint32_t bytes64 = 0, bytes32 = 0;
};
WriteRequests write_requests(const ByteMask& dirty);

template <uint32_t Ways>
class Cache {
 public:
  struct EvictedLine {
    uint64_t line;
    ByteMask dirty;
  };
  struct AllocatedLine {
    size_t slot;
    bool evicts;  // whether another line was there
    EvictedLine evicted;
  };

  explicit Cache(uint32_t bytes) : tags_(bytes / kLineBytes), contents_(bytes / kLineBytes), masks_(bytes / kLineBytes) {}

  // The line's slot, or kNotFound.
  size_t find(uint64_t line) { return tags_.find(line); }
  // Makes room for a line that is not in the cache. None of its bytes are valid afterwards.
  AllocatedLine allocate(uint64_t line) {
    const auto [slot, evicts, evicted] = tags_.allocate(line);
    const ByteMask dirty = evicts ? dirty_bytes(slot) : ByteMask{};
    contents_[slot] = Contents::None;
    return {slot, evicts, {evicted, dirty}};
  }
  bool is_full(size_t slot) const { return valid_bytes(slot).full(); }
  bool has(size_t slot, const ByteMask& bytes) const { return valid_bytes(slot).covers(bytes); }
  // Makes all bytes valid.
  void fill(size_t slot) { set(slot, {ByteMask::all(), dirty_bytes(slot)}); }
  // Makes these bytes valid as well.
  void add(size_t slot, const ByteMask& bytes) {
    Masks masks{valid_bytes(slot), dirty_bytes(slot)};
    masks.valid.add(bytes);
    set(slot, masks);
  }
  // Makes these bytes valid and dirty.
  void write(size_t slot, const ByteMask& bytes) {
    Masks masks{valid_bytes(slot), dirty_bytes(slot)};
    if (masks.dirty.empty()) dirty_.push_back(static_cast<uint32_t>(slot));
    masks.valid.add(bytes);
    masks.dirty.add(bytes);
    set(slot, masks);
  }
  // Marks the line that was found or allocated last as the next victim in its set, unless it is used again.
  void expect_no_reuse() { tags_.expect_no_reuse(); }
  // Drops all lines in constant time.
  void invalidate() {
    tags_.invalidate();
    dirty_.clear();
  }
  // To be called when something else has written the line. If the line is in the cache, it keeps its slot, but only its dirty
  // bytes remain valid.
  void make_stale(uint64_t line) {
    if (const size_t slot = tags_.look_up(line); slot != kNotFound) make_stale_at(slot);
  }
  // The same for all lines in the cache for which f(line) is true.
  template <class F>
  void make_stale_if(F f) {
    tags_.for_each([&](size_t slot) {
      if (f(tags_.line_at(slot))) make_stale_at(slot);
    });
  }
  // Calls f(line) for every line in the cache.
  template <class F>
  void for_each(F f) const {
    tags_.for_each([&](size_t slot) { f(tags_.line_at(slot)); });
  }
  size_t capacity() const { return tags_.capacity(); }
  // Prefetches into the host's cache the data that a search for the line will read.
  void prefetch(uint64_t line) const { tags_.prefetch(line); }
  // Calls f(line, its dirty bytes) for every dirty line and marks the line clean.
  template <class F>
  void write_back(F f) {
    for (const uint32_t slot : dirty_) {
      const ByteMask dirty = dirty_bytes(slot);
      if (dirty.empty()) continue;
      f(tags_.line_at(slot), dirty);
      set(slot, {valid_bytes(slot), {}});
    }
    dirty_.clear();
  }

 private:
  // In most lines, either all bytes are valid or none are, so the masks need not be read.
  enum class Contents : uint8_t { None, Full, FullDirty, Masks };
  struct Masks {
    ByteMask valid, dirty;
  };

  ByteMask valid_bytes(size_t slot) const {
    const Contents contents = contents_[slot];
    if (contents == Contents::Masks) return masks_[slot].valid;
    return contents == Contents::None ? ByteMask{} : ByteMask::all();
  }
  ByteMask dirty_bytes(size_t slot) const {
    const Contents contents = contents_[slot];
    if (contents == Contents::Masks) return masks_[slot].dirty;
    return contents == Contents::FullDirty ? ByteMask::all() : ByteMask{};
  }
  void set(size_t slot, const Masks& masks) {
    if (masks.valid.full() && masks.dirty.empty()) contents_[slot] = Contents::Full;
    else if (masks.dirty.full()) contents_[slot] = Contents::FullDirty;
    else contents_[slot] = Contents::Masks, masks_[slot] = masks;
  }
  void make_stale_at(size_t slot) {
    const ByteMask dirty = dirty_bytes(slot);
    set(slot, {dirty, dirty});
  }

  Tags<Ways> tags_;
  ZeroedArray<Contents> contents_;  // by slot
  ZeroedArray<Masks> masks_;        // by slot, for Contents::Masks
  std::vector<uint32_t> dirty_;     // slots of lines that became dirty since the last write-back; may repeat
};

}  // namespace rpd
