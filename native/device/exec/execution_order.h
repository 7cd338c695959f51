// Whether a kernel's results can depend on the order in which workgroups of different XCDs run.
#pragma once

#include <unordered_map>

#include "isa/program.h"

namespace rpd {

// XCDs run on several host threads. Atomic integer additions leave the same values in memory in any order. The order does
// matter for floating-point atomics and exchanges, for increments and decrements (whose limits may differ), for atomics that
// return the old value, for a mixture of several kinds of atomics, and for loads and acquires at agent or system scope. Kernels
// that can reach such instructions must run in a fixed order. Otherwise their results, counters and times would depend on how
// the host schedules its threads.
class ExecutionOrder {
 public:
  ExecutionOrder(Program& program, const AddressSpace& memory) : program_(program), memory_(memory) {}

  // Why the order matters for the kernel that begins at `entry`; null if it does not matter. Follows calls whose targets are
  // constants in the code; any other computed jump is assumed to be able to lead anywhere.
  const char* why_order_matters(uint64_t entry);

  void forget() { reasons_.clear(); }

 private:
  Program& program_;
  const AddressSpace& memory_;
  std::unordered_map<uint64_t, const char*> reasons_;  // [entry]: why
};

}  // namespace rpd
