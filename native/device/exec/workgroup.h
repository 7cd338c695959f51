// A workgroup on a compute unit: its waves, registers, LDS and private memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/engine.h"
#include "exec/initial_values.h"
#include "exec/kernel_descriptor.h"
#include "exec/outstanding_accesses.h"
#include "exec/wave.h"
#include "memory/cache_aligned.h"

namespace rpd {

// What all workgroups of a dispatch share.
struct Kernel {
  DispatchRequest request;
  KernelDescriptor descriptor;
  uint64_t entry;               // address of the first instruction
  uint64_t instruction_limit;   // per wave
  bool lds_check;               // accesses beyond the workgroup's LDS are faults
  const InitialValues* initial;  // for registers, LDS and private memory
  const Op* entry_op;
  Program* program;
  const AddressSpace* memory;
  const MemoryGuard* guard;     // null if all mapped memory may be accessed
  uint32_t groups[3];           // workgroups along each axis
  uint32_t wave_size;           // lanes
  uint32_t waves_per_group;
  uint32_t vgprs;               // registers per lane: architectural ...
  uint32_t agprs;               // ... and accumulation

  uint64_t group_count() const { return uint64_t{groups[0]} * groups[1] * groups[2]; }
};

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
  uint32_t left = 0;                // waves that have not ended
  uint64_t turns = 0;               // turns in which each of its waves could execute a slice

  // Sets up every wave as the dispatcher does: SGPRs, VGPRs, exec. `id` is the linear workgroup number.
  void start(const Kernel& kernel, uint64_t id, uint32_t cu_index, Observer* observer, IssueLog* issued);
  // Whether there are waves left and all of them are waiting at the barrier.
  bool has_met() const;
  // Lets the waves at the barrier continue.
  void release_barrier();

 private:
  // The ids of the work-items in a workgroup of the sizes below, ten bits for each id.
  std::vector<uint32_t> work_items_;
  uint32_t sizes_listed_[3] = {};
};

// How many workgroups of the kernel a CU holds at once; 0 if not even one fits.
uint32_t resident_workgroups(const Kernel& kernel);

}  // namespace rpd
