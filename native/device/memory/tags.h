// The tags of a set-associative cache, with least-recently-used replacement. What else is known about a line is up to the
// owner, who keeps it by the line's place.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "memory/same_bytes.h"
#include "memory/zeroed_array.h"

namespace rpd {

constexpr size_t kNowhere = ~size_t{0};

// `Ways` is a constant because searches compare all ways at once.
template <uint32_t Ways>
class Tags {
  static_assert(std::has_single_bit(Ways) && Ways <= 64);

 public:
  struct Allocated {
    size_t place;
    bool evicts;       // whether another line was there, ...
    uint64_t evicted;  // ... and which
  };

  // `lines`: a power of two.
  explicit Tags(size_t lines)
      : set_bits_(static_cast<uint32_t>(std::countr_zero(lines / Ways))),
        epochs_(lines / Ways),
        marks_(lines / Ways * kPadded),
        ages_(lines / Ways * kPadded),
        lines_(lines) {
    assert(std::has_single_bit(lines));
  }

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
    const size_t first = size_t{set} * Ways;
    for (uint64_t left = same_bytes<kPadded>(marks_of(set), mark_of(line)); left; left &= left - 1) {
      const size_t place = first + static_cast<size_t>(std::countr_zero(left));
      if (lines_[place] == line) [[likely]]
        return place;
    }
    return kNowhere;
  }

  // Makes room for a line that is not there.
  Allocated allocate(uint64_t line) {
    const uint32_t set = set_of(line);
    uint8_t *const marks = &marks_[size_t{set} * kPadded], *const ages = &ages_[size_t{set} * kPadded];
    if (epochs_[set] != epoch_) {
      epochs_[set] = epoch_;
      std::fill_n(marks, kPadded, 0);
    }
    const size_t way = victim_way(marks, ages), place = size_t{set} * Ways + way;
    const Allocated made{place, marks[way] != 0, lines_[place]};
    // The line of a free way has never been used.
    move_to_front<kPadded>(ages, static_cast<uint32_t>(way), made.evicts ? ages[way] : kFirstToGo);
    set_byte<kPadded>(marks, static_cast<uint32_t>(way), mark_of(line));
    lines_[place] = line;
    remember(line, place);
    return made;
  }

  // The line found or allocated last is the next of its set to make room, unless it is used again.
  void expect_no_reuse() {
    uint8_t* const ages = &ages_[last_ / Ways * kPadded];
    uint8_t& its_age = ages[last_ % Ways];
    // Closes the gap that it leaves among the ages of the others.
    for (uint32_t i = 0; i < kPadded; ++i)
      ages[i] = static_cast<uint8_t>(ages[i] - (ages[i] > its_age && ages[i] < kFirstToGo));
    its_age = kFirstToGo;
    last_line_ = ~uint64_t{0};
  }

  // Drops all lines in constant time.
  void invalidate() {
    last_line_ = ~uint64_t{0};
    if (++epoch_ != 0) return;
    epoch_ = 1;
    std::fill(epochs_.begin(), epochs_.end(), 0);
  }

  uint64_t line_at(size_t place) const { return lines_[place]; }

  // Calls f(place) for every line that is there.
  template <class F>
  void for_each(F f) const {
    for (size_t set = 0; set < epochs_.size(); ++set) {
      if (epochs_[set] != epoch_) continue;
      for (uint32_t way = 0; way < Ways; ++way)
        if (marks_of(set)[way]) f(set * Ways + way);
    }
  }
  // Fetches into the host's cache what a search for the line reads.
  void prefetch(uint64_t line) const {
    const size_t set = set_of(line);
    __builtin_prefetch(marks_of(set));
    __builtin_prefetch(&ages_[set * kPadded]);
    __builtin_prefetch(&lines_[set * Ways]);
  }

 private:
  static constexpr uint32_t kPadded = (Ways + kByteBlock - 1) / kByteBlock * kByteBlock;
  static constexpr uint64_t kAllWays = ~uint64_t{0} >> (64 - Ways);
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
  const uint8_t* marks_of(size_t set) const { return &marks_[set * kPadded]; }
  void remember(uint64_t line, size_t place) {
    last_line_ = line;
    last_ = place;
  }
  void use(size_t place) {
    uint8_t* const ages = &ages_[place / Ways * kPadded];
    const uint8_t age = ages[place % Ways];
    // Those that were used since this one are now used before one more line.
    if (age != 0) move_to_front<kPadded>(ages, static_cast<uint32_t>(place % Ways), age);
  }
  // The first free way of the set, else the first that is expected to go, else the least recently used one.
  static size_t victim_way(const uint8_t* marks, const uint8_t* ages) {
    if (const uint64_t free = same_bytes<kPadded>(marks, 0) & kAllWays) return std::countr_zero(free);
    if (const uint64_t first = same_bytes<kPadded>(ages, kFirstToGo) & kAllWays) return std::countr_zero(first);
    return std::countr_zero(same_bytes<kPadded>(ages, Ways - 1) & kAllWays);
  }

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
