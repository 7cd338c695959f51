// All code decoded so far, as linked Ops.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/disassembler.h"
#include "isa/loaded_segments.h"
#include "isa/op.h"
#include "memory/address_space.h"

namespace rpd {

// Decodes on demand: everything reachable from an address at once. Ops stay where they are until forget().
class Program {
 public:
  explicit Program(const AddressSpace& memory);

  // The Op at `address`; never null: an instruction that cannot be decoded becomes an Op that raises a fault when it runs.
  // Safe to call from several threads.
  const Op* at(uint64_t address);
  // The same for a jump from code at `from`. If the target is neither in a code object nor in the same allocation as `from`,
  // its Op raises a fault unless the target has been decoded before.
  const Op* jump(uint64_t from, uint64_t address);

  // Forgets everything if any decoded code lies in [begin, begin + size). To be called only while nothing executes.
  void forget(uint64_t begin, uint64_t size);

  // Identifies the meaning of Op indices: a number that is never reused for another meaning, in this or any other Program.
  uint64_t revision() const {
    const std::lock_guard lock(mutex_);
    return revision_;
  }
  size_t op_count() const {
    const std::lock_guard lock(mutex_);
    return ops_.size();
  }
  const Op& op(size_t index) const { return ops_[index]; }
  // Calls f(op) for each Op from index `first` on; safe while other threads decode.
  template <class F>
  void for_each_op(size_t first, F f) const {
    const std::lock_guard lock(mutex_);
    for (size_t i = first; i < ops_.size(); ++i) f(ops_[i]);
  }

 private:
  Op* find_or_decode(uint64_t address, std::vector<uint64_t>& todo, bool allowed);
  bool is_data(uint64_t address);
  void decode_from(uint64_t address, bool allowed = true);

  const AddressSpace& memory_;
  Disassembler disassembler_;
  mutable std::mutex mutex_;
  uint64_t revision_;
  std::optional<LoadedSegment> segment_;  // the segment of the instruction decoded last
  std::deque<Op> ops_;
  std::deque<std::string> texts_;
  std::vector<std::unique_ptr<LanePermutation>> permutations_;
  std::unordered_map<uint64_t, Op*> by_address_;
};

}  // namespace rpd
