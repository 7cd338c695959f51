// The slots that workgroups and their waves occupy on an XCD's compute units; HW_ID and similar registers report them to
// kernels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exec/dispatched_kernel.h"
#include "exec/workgroup.h"
#include "isa/target.h"

namespace rpd {

class WaveSlots {
 public:
  explicit WaveSlots(uint32_t xcd) : xcd_(xcd), cus_(target::cus_per_xcd()) {}

  // Frees all slots.
  void clear() { cus_.assign(cus_.size(), CuSlots{}); }
  // Finds wave slots for a workgroup on its CU, and records them in its waves.
  void enter(const DispatchedKernel& kernel, Workgroup& group);
  void leave(const Workgroup& group);

 private:
  static constexpr uint32_t kSlots = 16;  // maximum number of workgroups on a CU, and of waves on a SIMD
  struct CuSlots {
    uint32_t launched = 0;   // waves so far
    uint16_t groups = 0;     // slots taken, one bit each
    std::array<uint16_t, target::kSimdsPerCu> waves{};
  };

  uint32_t xcd_;
  std::vector<CuSlots> cus_;
};

}  // namespace rpd
