// The tags of a set-associative cache, with least-recently-used replacement. What else is known about a line is up to the
// owner, who keeps it by the line's place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "memory/same_bytes.h"
#include "memory/zeroed_array.h"

namespace rpd {

class Tags {
 public:
  static constexpr uint32_t kMostWays = 64;
  static constexpr size_t kNowhere = ~size_t{0};

  struct Allocated {
    size_t place;
    bool evicts;       // whether another line was there, ...
    uint64_t evicted;  // ... and which one
  };

  // Both must be powers of two.
  Tags(size_t lines, uint32_t ways);

  size_t capacity() const { return lines_.size(); }

  // The line's place, or kNowhere. It is now the most recently used one of its set.
  size_t find(uint64_t line) {
    if (line == last_line_) return last_;
    const size_t place = look_up(line);
    if (place == kNowhere) return kNowhere;
    use(place);
    remember(line, place);
    return place;
  }
  // The same without any effect.
  size_t look_up(uint64_t line) const {
    const uint32_t set = set_of(line);
    if (epochs_[set] != epoch_) return kNowhere;
    const size_t bytes = size_t{set} * padded_, first = size_t{set} << way_bits_;
    for (uint64_t left = same_bytes(&marks_[bytes], padded_, mark_of(line)); left; left &= left - 1) {
      const size_t place = first + static_cast<size_t>(std::countr_zero(left));
      if (lines_[place] == line) return place;
    }
    return kNowhere;
  }
  // Makes room for a line that is not there.
  Allocated allocate(uint64_t line);
  // The line found or allocated last is the next of its set to make room, unless it is used again.
  void expect_no_reuse();
  // Drops all lines in constant time.
  void invalidate();

  uint64_t line_at(size_t place) const { return lines_[place]; }
  // Calls f(place, line) for every line that is there.
  template <class F>
  void for_each(F f) const {
    for (size_t set = 0; set < epochs_.size(); ++set) {
      if (epochs_[set] != epoch_) continue;
      for (uint32_t way = 0; way < ways_; ++way)
        if (marks_[set * padded_ + way]) f(set << way_bits_ | way, lines_[set << way_bits_ | way]);
    }
  }
  // Fetches into the host's cache what a search for the line reads.
  void prefetch(uint64_t line) const {
    const uint32_t set = set_of(line);
    __builtin_prefetch(&marks_[size_t{set} * padded_]);
    __builtin_prefetch(&ages_[size_t{set} * padded_]);
    __builtin_prefetch(&lines_[size_t{set} << way_bits_]);
  }

 private:
  static constexpr uint8_t kFirstToGo = 255;

  // Folds the upper address bits into the set number, so that power-of-two strides do not pile up in a few sets. The
  // hardware's own hash is not published.
  uint32_t set_of(uint64_t line) const {
    const uint64_t folded = line ^ line >> set_bits_ ^ line >> set_bits_ >> set_bits_;
    return static_cast<uint32_t>(folded & ((uint64_t{1} << set_bits_) - 1));
  }
  // A byte of the line's hash, by which most lines of a set differ; 0 is that of a free way.
  static uint8_t mark_of(uint64_t line) {
    const auto hash = static_cast<uint8_t>(line * 0x9e3779b97f4a7c15ull >> 56);
    return hash ? hash : 1;
  }
  void remember(uint64_t line, size_t place) {
    last_line_ = line;
    last_ = place;
  }
  void use(size_t place) {
    const size_t set = place >> way_bits_, way = place & (ways_ - 1);
    uint8_t* const ages = &ages_[set * padded_];
    if (ages[way]) grow_older(ages, ages[way]);
    ages[way] = 0;
  }
  // Those that were used since a line of this age are now used before one more line.
  void grow_older(uint8_t* ages, uint8_t age) const {
    for (uint32_t block = 0; block < padded_; block += kByteBlock)
      for (uint32_t i = 0; i < kByteBlock; ++i) ages[block + i] = static_cast<uint8_t>(ages[block + i] + (ages[block + i] < age));
  }
  size_t victim_way(uint32_t set) const;

  uint32_t ways_;
  uint32_t way_bits_;
  uint32_t padded_;    // ways in whole blocks of bytes
  uint32_t set_bits_;
  uint32_t epoch_ = 1;
  uint64_t last_line_ = ~uint64_t{0};  // found last, ...
  size_t last_ = 0;                    // ... and its place
  ZeroedArray<uint32_t> epochs_;  // [set]: the epoch of its contents; a new one begins when all lines are dropped
  ZeroedArray<uint8_t> marks_;    // [set][way, padded]
  // [set][way, padded]: how many lines of the set have been used since this one; kFirstToGo for lines that are not expected
  // to be used again. Of no meaning for free ways.
  ZeroedArray<uint8_t> ages_;
  ZeroedArray<uint64_t> lines_;   // [set][way]
};

}  // namespace rpd
