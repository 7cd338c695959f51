// A workgroup on a compute unit: its waves, registers, LDS and private memory.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/outstanding_accesses.h"
#include "exec/wave.h"
#include "memory/cache_aligned.h"

namespace rpd {

struct DispatchedKernel;

struct Workgroup {
  std::vector<Wave> waves;
  CacheAlignedVector<uint32_t> registers;  // [wave][register][lane]
  std::vector<uint8_t> lds;
  std::vector<uint8_t> scratch;     // [wave][lane][byte]
  std::vector<OutstandingAccesses> outstanding;  // [wave]; only with a race check
  uint64_t id = 0;                  // linear workgroup number
  uint32_t cu = 0;
  uint32_t cu_slot = 0;               // its slot among the workgroups of the CU
  uint32_t epoch = 0;               // barriers that all its waves have passed
  uint64_t slot = 0;                // unique among the workgroups that are on the device at the same time
  uint32_t unfinished_waves = 0;    // waves that have not ended
  uint64_t turns = 0;               // turns in which each of its waves could execute a slice

  // Sets up every wave as the dispatcher does: SGPRs, VGPRs, exec. `id` is the linear workgroup number.
  void start(const DispatchedKernel& kernel, uint64_t id, uint32_t cu_index, InstructionObserver* observer, IssueLog* issued);
  // Whether there are waves left and all of them are waiting at the barrier.
  bool has_met() const;
  // Lets the waves at the barrier continue.
  void release_barrier();

 private:
  // The ids of the work-items in a workgroup of the sizes below, ten bits for each id.
  std::vector<uint32_t> work_items_;
  uint32_t sizes_listed_[3] = {};
};

}  // namespace rpd
