// Where on an XCD's compute units workgroups and their waves are: what HW_ID and its like tell a kernel.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exec/workgroup.h"

namespace rpd {

class WaveSlots {
 public:
  explicit WaveSlots(uint32_t xcd) : xcd_(xcd), units_(target::kCusPerXcd) {}

  // No workgroup is there.
  void clear() { units_.assign(units_.size(), Unit{}); }
  // Finds wave slots for a workgroup on its CU, and writes them into its waves.
  void enter(const Kernel& kernel, Workgroup& group);
  void leave(const Workgroup& group);

 private:
  static constexpr uint32_t kSlots = 16;  // of workgroups on a CU, and of waves on a SIMD, at most
  struct Unit {
    uint32_t launched = 0;   // waves so far
    uint16_t groups = 0;     // taken, a bit each
    std::array<uint16_t, target::kSimdsPerCu> waves{};
  };

  uint32_t xcd_;
  std::vector<Unit> units_;
};

}  // namespace rpd
