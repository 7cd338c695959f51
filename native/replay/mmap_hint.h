// Chooses the address of the next range that ROCr requests from the Linux kernel. ROCr's loader does not let its caller choose
// where to place code, but its thunk accepts whatever address mmap returns.
#pragma once

#include <cstdint>

namespace rpd::replay {

// While this object exists, if this thread requests at least `bytes` of address space without specifying an address, it gets
// `address` minus the thunk's guard page, if that is free.
class MmapHint {
 public:
  MmapHint(uint64_t address, uint64_t bytes);
  ~MmapHint();
  MmapHint(const MmapHint&) = delete;
};

// ROCr's thunk searches for its own range of addresses from the bottom up in steps of 2 MiB, with two system calls per step.
// From now on it is immediately offered the first address above `end`, which saves a third of a second for a capture with
// memory at 100 GB.
void start_svm_range_above(uint64_t end);

}  // namespace rpd::replay
