// Chooses the place of the next address range that ROCr requests from the kernel. ROCr's loader does not let its caller
// choose where code goes; but its thunk accepts whatever place mmap returns.
#pragma once

#include <cstdint>

namespace rpd::replay {

// While it lives, if this thread requests at least `bytes` of address space without naming a place, it gets `address` minus
// the thunk's guard page, if that is free.
class MmapHint {
 public:
  MmapHint(uint64_t address, uint64_t bytes);
  ~MmapHint();
  MmapHint(const MmapHint&) = delete;
};

// ROCr's thunk searches for its own range of addresses in steps of 2 MiB from the bottom, with two system calls each. From
// now on it is offered the first place above `end` at once; for a capture with memory at 100 GB that saves a third of a
// second.
void start_svm_range_above(uint64_t end);

}  // namespace rpd::replay
