// The distinct lines accessed, in order of first access.
#pragma once

#include <cstdint>
#include <vector>

namespace rpd {

class DistinctLines {
 public:
  // Returns whether the line is new.
  bool insert(uint64_t line) {
    Block& block = slots_[last_].number == number_of(line) ? slots_[last_] : block_of(line);
    const uint64_t bit = uint64_t{1} << line % kLinesInBlock;
    if (block.lines & bit) return false;
    block.lines |= bit;
    lines_.push_back(line);
    return true;
  }
  bool contains(uint64_t line) const {
    const Block& block = slots_[last_].number == number_of(line) ? slots_[last_] : slots_[find(number_of(line))];
    return block.lines >> line % kLinesInBlock & 1;
  }
  // Forgets the line and returns whether it had been inserted. It stays in lines().
  bool forget(uint64_t line) {
    Block& block = slots_[find(number_of(line))];
    const uint64_t bit = uint64_t{1} << line % kLinesInBlock;
    const bool present = block.lines & bit;
    block.lines &= ~bit;
    return present;
  }
  const std::vector<uint64_t>& lines() const { return lines_; }
  void clear() {
    if (lines_.empty()) return;
    slots_.assign(slots_.size(), {});
    lines_.clear();
    used_ = 0;
  }

 private:
  // Neighbouring lines share a slot, since they are usually accessed together. A free slot has no number and no lines.
  static constexpr uint64_t kLinesInBlock = 64;
  struct Block {
    uint64_t number = 0;  // line / kLinesInBlock + 1
    uint64_t lines = 0;   // one bit each
  };
  static uint64_t number_of(uint64_t line) { return line / kLinesInBlock + 1; }

  // Open addressing.
  size_t find(uint64_t number) const {
    size_t slot = number * 0x9e3779b97f4a7c15ull >> shift_;
    while (slots_[slot].number != 0 && slots_[slot].number != number) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  Block& block_of(uint64_t line) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    last_ = find(number_of(line));
    Block& block = slots_[last_];
    used_ += block.number == 0;
    block.number = number_of(line);
    return block;
  }
  void grow() {
    std::vector<Block> old(2 * slots_.size());
    old.swap(slots_);
    --shift_;
    for (const Block& block : old)
      if (block.number != 0) slots_[find(block.number)] = block;
  }

  unsigned shift_ = 56;  // 64 minus the number of bits of a slot's index
  std::vector<Block> slots_ = std::vector<Block>(size_t{1} << 8);
  size_t used_ = 0;  // slots
  size_t last_ = 0;  // the slot accessed last
  std::vector<uint64_t> lines_;
};

}  // namespace rpd
