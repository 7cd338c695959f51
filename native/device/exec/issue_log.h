// What waves issue, kept until those who count and time it are told.
//
// They look at it before anything that they time, and are told when a slice ends. It has runs of instructions: a call, or
// even an entry, for each instruction would take about as long as a scalar instruction does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpd {

// Instructions one behind the other in their Program, not always in memory, each issued once with the same lanes.
struct IssuedRun {
  uint32_t first;  // Op::index
  uint32_t end;    // behind the last
  uint64_t exec;
};

// Of an XCD: what the wave whose slice it is has issued.
class IssueLog {
 public:
  // False if the instruction does not continue the last run: then it must start one.
  bool extend(uint32_t index, uint64_t exec) {
    if (index != last_->end || exec != last_->exec) [[unlikely]]
      return false;
    ++last_->end;
    return true;
  }
  // Not while full.
  void start(uint32_t index, uint64_t exec) { *++last_ = {index, index + 1, exec}; }
  bool is_full() const { return last_ == &runs_.back(); }
  // The last may still grow. Not empty while the instruction that was issued last executes.
  std::span<const IssuedRun> runs() const { return {runs_.data() + 1, last_ + 1}; }
  void clear() { last_ = runs_.data(); }

 private:
  static constexpr size_t kRoom = 64;
  static constexpr uint32_t kNoIndex = ~uint32_t{0};
  std::array<IssuedRun, 1 + kRoom> runs_{IssuedRun{kNoIndex, kNoIndex, 0}};  // the first is none, and never continued
  IssuedRun* last_ = runs_.data();
};

}  // namespace rpd
