#include "memory/tags.h"

#include <algorithm>
#include <cassert>

namespace rpd {

Tags::Tags(size_t lines, uint32_t ways)
    : ways_(ways),
      way_bits_(static_cast<uint32_t>(std::countr_zero(ways))),
      padded_((ways + kByteBlock - 1) / kByteBlock * kByteBlock),
      set_bits_(static_cast<uint32_t>(std::countr_zero(lines / ways))),
      epochs_(lines / ways),
      marks_(lines / ways * padded_),
      ages_(lines / ways * padded_),
      lines_(lines) {
  assert(std::has_single_bit(lines) && std::has_single_bit(ways) && ways <= kMostWays);
}

void Tags::invalidate() {
  last_line_ = ~uint64_t{0};
  if (++epoch_ != 0) return;
  epoch_ = 1;
  std::fill(epochs_.begin(), epochs_.end(), 0);
}

// The first free way of the set, else the first that is expected to go, else the least recently used one.
size_t Tags::victim_way(uint32_t set) const {
  const size_t bytes = size_t{set} * padded_;
  const uint64_t ways = ways_ == kMostWays ? ~uint64_t{0} : (uint64_t{1} << ways_) - 1;
  if (const uint64_t free = same_bytes(&marks_[bytes], padded_, 0) & ways) return std::countr_zero(free);
  if (const uint64_t first = same_bytes(&ages_[bytes], padded_, kFirstToGo) & ways) return std::countr_zero(first);
  return std::countr_zero(same_bytes(&ages_[bytes], padded_, static_cast<uint8_t>(ways_ - 1)) & ways);
}

Tags::Allocated Tags::allocate(uint64_t line) {
  const uint32_t set = set_of(line);
  const size_t bytes = size_t{set} * padded_;
  if (epochs_[set] != epoch_) {
    epochs_[set] = epoch_;
    std::fill_n(&marks_[bytes], padded_, 0);
  }
  const size_t way = victim_way(set), place = (size_t{set} << way_bits_) + way;
  const Allocated made{place, marks_[bytes + way] != 0, lines_[place]};
  // A line in a free way has never been used.
  const uint8_t age = made.evicts ? ages_[bytes + way] : kFirstToGo;
  grow_older(&ages_[bytes], age);
  ages_[bytes + way] = 0;
  marks_[bytes + way] = mark_of(line);
  lines_[place] = line;
  remember(line, place);
  return made;
}

// Closes the gap that it leaves among the ages of the others.
void Tags::expect_no_reuse() {
  const size_t bytes = (last_ >> way_bits_) * padded_, way = last_ & (ways_ - 1);
  for (uint32_t i = 0; i < padded_; ++i) {
    const uint8_t age = ages_[bytes + i];
    ages_[bytes + i] = static_cast<uint8_t>(age - (age > ages_[bytes + way] && age < kFirstToGo));
  }
  ages_[bytes + way] = kFirstToGo;
  last_line_ = ~uint64_t{0};
}

}  // namespace rpd
