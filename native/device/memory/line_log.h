// The distinct lines accessed, in the order of their first access.
#pragma once

#include <cstdint>
#include <vector>

namespace rpd {

class LineLog {
 public:
  void insert(uint64_t line) {
    if (2 * (lines_.size() + 1) > slots_.size()) grow();
    if (enter(line)) lines_.push_back(line);
  }
  bool contains(uint64_t line) const { return !slots_.empty() && slots_[find(line)] != 0; }
  const std::vector<uint64_t>& lines() const { return lines_; }
  void clear() {
    slots_.assign(slots_.size(), 0);
    lines_.clear();
  }

 private:
  // Open addressing: a slot holds line + 1, or 0 if it is free.
  size_t find(uint64_t line) const {
    size_t at = line * 0x9e3779b97f4a7c15ull >> shift_;
    while (slots_[at] != 0 && slots_[at] != line + 1) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  bool enter(uint64_t line) {
    uint64_t& slot = slots_[find(line)];
    const bool fresh = slot == 0;
    slot = line + 1;
    return fresh;
  }
  void grow() {
    shift_ = slots_.empty() ? 54 : shift_ - 1;
    slots_.assign(size_t{1} << (64 - shift_), 0);
    for (const uint64_t line : lines_) enter(line);
  }

  unsigned shift_ = 64;
  std::vector<uint64_t> slots_;
  std::vector<uint64_t> lines_;
};

}  // namespace rpd
