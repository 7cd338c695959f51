// The tags of a set-associative cache, with least-recently-used replacement. Whatever else is known about a line is stored by
// the owner of the tags, indexed by the line's slot.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "memory/find_equal.h"
#include "memory/zeroed_array.h"

namespace rpd {

constexpr size_t kNotFound = ~size_t{0};

// `Ways` is a constant because searches compare all ways at once.
template <uint32_t Ways>
class Tags {
  static_assert(std::has_single_bit(Ways) && Ways <= 64);

 public:
  struct AllocatedLine {
    size_t slot;
    bool evicts;       // whether another line was there, ...
    uint64_t evicted;  // ... and which
  };

  // `lines`: a power of two.
  explicit Tags(size_t lines)
      : set_bits_(static_cast<uint32_t>(std::countr_zero(lines / Ways))), sets_(lines / Ways), lines_(lines) {
    assert(std::has_single_bit(lines));
  }

  size_t capacity() const { return lines_.size(); }

  // The line's slot, or kNotFound. Marks the line as the most recently used one in its set.
  size_t find(uint64_t line) {
    const RecentLine& recent = recent_of(line);
    // Another line may have taken its slot since then.
    const size_t slot = recent.line == line && lines_[recent.slot] == line ? recent.slot : look_up(line);
    if (slot == kNotFound) return kNotFound;
    sets_[slot / Ways].use(way_of(slot));
    remember(line, slot);
    return slot;
  }
  // The same, but without marking the line as the most recently used one.
  size_t look_up(uint64_t line) const {
    const size_t set = set_of(line), first = set * Ways;
    if (sets_[set].epoch != epoch_) return kNotFound;
    for (uint64_t matches = find_equal<kPadded>(sets_[set].marks, mark_of(line)); matches; matches &= matches - 1) {
      const size_t slot = first + static_cast<size_t>(std::countr_zero(matches));
      if (lines_[slot] == line) [[likely]]
        return slot;
    }
    return kNotFound;
  }

  // Makes room for a line that is not in the cache.
  AllocatedLine allocate(uint64_t line) {
    const size_t number = set_of(line);
    Set& set = sets_[number];
    if (set.epoch != epoch_) {
      set.epoch = epoch_;
      std::fill_n(set.marks, kPadded, 0);
    }
    const uint32_t way = set.victim();
    const size_t slot = number * Ways + way;
    const AllocatedLine allocated{slot, set.marks[way] != 0, lines_[slot]};
    set.fill(way, mark_of(line));
    lines_[slot] = line;
    remember(line, slot);
    return allocated;
  }

  // Marks the line that was found or allocated last as the next victim in its set, unless it is used again.
  void expect_no_reuse() { sets_[last_ / Ways].expect_no_reuse(way_of(last_)); }

  // Drops all lines in constant time.
  void invalidate() {
    recent_.fill({});
    if (++epoch_ != 0) return;
    epoch_ = 1;
    for (Set& set : sets_) set.epoch = 0;
  }

  uint64_t line_at(size_t slot) const { return lines_[slot]; }

  // Calls f(slot) for every line in the cache.
  template <class F>
  void for_each(F f) const {
    for (size_t set = 0; set < sets_.size(); ++set) {
      if (sets_[set].epoch != epoch_) continue;
      for (uint32_t way = 0; way < Ways; ++way)
        if (sets_[set].marks[way]) f(set * Ways + way);
    }
  }
  // Prefetches into the host's cache the data that a search for the line will read.
  void prefetch(uint64_t line) const {
    const size_t set = set_of(line);
    __builtin_prefetch(&sets_[set]);
    __builtin_prefetch(&lines_[set * Ways]);
  }

 private:
  // A line and its slot. Waves take turns, and a wave often looks up the lines of its previous access again.
  struct RecentLine {
    uint64_t line = ~uint64_t{0};
    size_t slot = 0;
  };
  static constexpr size_t kRecent = 16;
  // Lines a power of two apart, such as those of a column of a matrix, have different entries.
  RecentLine& recent_of(uint64_t line) { return recent_[(line ^ line / kRecent ^ line / kRecent / kRecent) % kRecent]; }

  static constexpr uint32_t kPadded = (Ways + kByteBlock - 1) / kByteBlock * kByteBlock;
  static constexpr uint64_t kAllWays = ~uint64_t{0} >> (64 - Ways);

  static constexpr uint8_t kFirstToGo = 255;

  // The data that a search reads is contiguous: for 16 ways, it fits in one line of the host's cache.
  struct alignas(64) Set {
    uint8_t marks[kPadded];  // [way], see mark_of()
    // [way]: how many lines of the set have been used since this one; kFirstToGo for lines that are not expected to be used
    // again. Meaningless for free ways.
    uint8_t ages[kPadded];
    uint32_t epoch;  // of the set's contents; a new one begins when all lines are dropped

    void use(uint32_t way) {
      // Each line that was used more recently than this one now has one more line used after it.
      if (ages[way] != 0) move_to_front<kPadded>(ages, way, ages[way]);
    }
    // The first free way; otherwise the first line that is not expected to be used again; otherwise the least recently used
    // one.
    uint32_t victim() const {
      if (const uint64_t free = find_equal<kPadded>(marks, 0) & kAllWays) return first_of(free);
      if (const uint64_t first = find_equal<kPadded>(ages, kFirstToGo) & kAllWays) return first_of(first);
      return first_of(find_equal<kPadded>(ages, Ways - 1) & kAllWays);
    }
    void fill(uint32_t way, uint8_t mark) {
      // A free way is treated as if its line had never been used.
      move_to_front<kPadded>(ages, way, marks[way] ? ages[way] : kFirstToGo);
      set_byte<kPadded>(marks, way, mark);
    }
    void expect_no_reuse(uint32_t way) {
      const uint8_t its_age = ages[way];
      // Closes the gap that the line leaves in the ages of the other lines.
      for (uint8_t& age : ages) age = static_cast<uint8_t>(age - (age > its_age && age < kFirstToGo));
      ages[way] = kFirstToGo;
    }
  };
  static uint32_t first_of(uint64_t ways) { return static_cast<uint32_t>(std::countr_zero(ways)); }

  // Folds the upper address bits into the set number, so that accesses with power-of-two strides do not pile up in a few sets.
  // The hardware's own hash is not published.
  uint32_t set_of(uint64_t line) const {
    const uint64_t folded = line ^ line >> set_bits_ ^ line >> set_bits_ >> set_bits_;
    return static_cast<uint32_t>(folded & ((uint64_t{1} << set_bits_) - 1));
  }
  // A byte of the line's hash, which tells most lines of a set apart; never 0, which marks a free way.
  static uint8_t mark_of(uint64_t line) {
    const auto hash = static_cast<uint8_t>(line * 0x9e3779b97f4a7c15ull >> 56);
    return hash ? hash : 1;
  }
  static uint32_t way_of(size_t slot) { return static_cast<uint32_t>(slot % Ways); }
  void remember(uint64_t line, size_t slot) {
    recent_of(line) = {line, slot};
    last_ = slot;
  }

  uint32_t set_bits_;
  uint32_t epoch_ = 1;
  std::array<RecentLine, kRecent> recent_;  // lines found or allocated recently, see recent_of()
  size_t last_ = 0;  // the slot of the line that was found or allocated last
  ZeroedArray<Set> sets_;
  ZeroedArray<uint64_t> lines_;  // [set][way]
};

}  // namespace rpd
