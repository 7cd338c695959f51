// All code decoded so far, as linked Ops.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/disassembler.h"
#include "isa/op.h"
#include "memory/address_space.h"

namespace rpd {

// Decodes on demand, everything reachable from an address at once. Ops stay where they are until forget().
class Program {
 public:
  using OnDecode = void (*)(Op&);  // lets the timing model annotate an Op

  Program(const AddressSpace& memory, const std::string& isa_name, OnDecode on_decode);

  // The Op at `address`; never null: what cannot be decoded becomes an Op that raises a fault when it runs.
  // Safe to call from several threads.
  const Op* at(uint64_t address);

  // Forgets everything if any decoded code lies in [begin, begin + size). Only while nothing executes.
  void forget(uint64_t begin, uint64_t size);

  size_t op_count() const {
    const std::lock_guard lock(mutex_);
    return ops_.size();
  }
  const Op& op(size_t index) const { return ops_[index]; }

 private:
  Op* find_or_decode(uint64_t address, std::vector<uint64_t>& todo);
  void decode_from(uint64_t address);

  const AddressSpace& memory_;
  Disassembler disassembler_;
  OnDecode on_decode_;
  mutable std::mutex mutex_;
  std::deque<Op> ops_;
  std::deque<std::string> texts_;
  std::vector<std::unique_ptr<LanePermutation>> permutations_;
  std::unordered_map<uint64_t, Op*> by_address_;
};

}  // namespace rpd
