// One dispatch of a kernel: its code, request and grid.
#pragma once

#include <cstdint>

#include "exec/engine.h"
#include "exec/kernel_descriptor.h"
#include "memory/address_space.h"

namespace rpd {

class InitialValues;
class MemoryGuard;
class Program;
struct Op;

// What all workgroups of a dispatch share.
struct DispatchedKernel {
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

// How many workgroups of the kernel a CU holds at once; 0 if not even one fits.
uint32_t resident_workgroups(const DispatchedKernel& kernel);

}  // namespace rpd
