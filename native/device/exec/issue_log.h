// The instructions that waves issue, logged until they are reported to the observer, which counts and times them.
//
// The observer reads the log before it times any event, whenever the log is full, and at the end of each slice. The log holds
// runs of instructions, because a call, or even just a log entry, for each instruction would cost about as much as executing a
// scalar instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpd {

// Instructions that follow each other in their Program (not necessarily in memory), each issued once with the same lanes
// enabled.
struct IssuedRun {
  uint32_t first;  // Op::index
  uint32_t end;    // one past the last
  uint64_t exec;
};

// Each XCD has one log; it holds what the wave that is currently executing has issued since the last report.
class IssueLog {
 public:
  // Returns false if the instruction does not continue the last run; the caller must then start a new one.
  bool extend(uint32_t index, uint64_t exec) {
    if (index != last_->end || exec != last_->exec) [[unlikely]]
      return false;
    ++last_->end;
    return true;
  }
  // Adds the next `count` instructions to the last run, which they must continue.
  void extend_by(uint32_t count) { last_->end += count; }
  // Must not be called while the log is full.
  void start(uint32_t index, uint64_t exec) { *++last_ = {index, index + 1, exec}; }
  bool is_full() const { return last_ == &runs_.back(); }
  // The last run may still grow. The log is not empty while the most recently issued instruction executes.
  std::span<const IssuedRun> runs() const { return {runs_.data() + 1, last_ + 1}; }
  void clear() { last_ = runs_.data(); }

 private:
  static constexpr size_t kRoom = 64;
  static constexpr uint32_t kNoIndex = ~uint32_t{0};
  std::array<IssuedRun, 1 + kRoom> runs_{IssuedRun{kNoIndex, kNoIndex, 0}};  // the first is a sentinel that is never continued
  IssuedRun* last_ = runs_.data();
};

}  // namespace rpd
