#include "exec/occupancy.h"

#include <algorithm>

namespace rpd {

uint32_t resident_workgroups(const Kernel& kernel) {
  const auto waves_by_registers =
      std::min<uint32_t>(target::kWavesPerSimd, target::kVgprsPerSimdLane / std::max(8u, kernel.descriptor.total_vgprs()));
  // A workgroup's waves are spread over the SIMDs; it needs room on each for its share.
  const uint32_t waves_per_simd = (kernel.waves_per_group + target::kSimdsPerCu - 1) / target::kSimdsPerCu;
  uint32_t groups = waves_by_registers * target::kSimdsPerCu / kernel.waves_per_group;
  if (waves_per_simd > waves_by_registers) groups = 0;
  const uint32_t slots = kernel.waves_per_group == 1 ? 2 * target::kWorkgroupsPerCu : target::kWorkgroupsPerCu;
  groups = std::min(groups, slots);
  const uint32_t lds = target::allocated_lds(kernel.request.group_segment_size);
  if (lds > 0) groups = std::min<uint32_t>(groups, target::kLdsBytesPerCu / lds);
  return groups;
}

}  // namespace rpd
