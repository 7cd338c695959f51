// The instructions that waves issue, logged until the observer that counts and times them is informed.
//
// The observer reads the log before it times any event, and is informed when a slice ends. The log holds runs of
// instructions: a call, or even an entry, for each instruction would cost about as much as executing a scalar instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpd {

// Instructions that follow each other in their Program (not necessarily in memory), each issued once with the same lanes.
struct IssuedRun {
  uint32_t first;  // Op::index
  uint32_t end;    // one past the last
  uint64_t exec;
};

// One per XCD: what the wave that is executing its slice has issued.
class IssueLog {
 public:
  // Returns false if the instruction does not continue the last run; the caller must then start a new one.
  bool extend(uint32_t index, uint64_t exec) {
    if (index != last_->end || exec != last_->exec) [[unlikely]]
      return false;
    ++last_->end;
    return true;
  }
  // Adds `count` more instructions to the last run: each continues it.
  void extend_by(uint32_t count) { last_->end += count; }
  // Must not be called while the log is full.
  void start(uint32_t index, uint64_t exec) { *++last_ = {index, index + 1, exec}; }
  bool is_full() const { return last_ == &runs_.back(); }
  // The last run may still grow. Not empty while the most recently issued instruction executes.
  std::span<const IssuedRun> runs() const { return {runs_.data() + 1, last_ + 1}; }
  void clear() { last_ = runs_.data(); }

 private:
  static constexpr size_t kRoom = 64;
  static constexpr uint32_t kNoIndex = ~uint32_t{0};
  std::array<IssuedRun, 1 + kRoom> runs_{IssuedRun{kNoIndex, kNoIndex, 0}};  // the first is a sentinel that is never continued
  IssuedRun* last_ = runs_.data();
};

}  // namespace rpd
