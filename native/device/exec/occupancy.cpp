#include "exec/occupancy.h"

#include <algorithm>

#include "exec/lds_allocation.h"

#include "timing_parameters.inc.h"

namespace rpd {

uint32_t resident_workgroups(const Kernel& kernel) {
  const auto waves_by_registers =
      std::min<uint32_t>(parameter::waves_per_simd, parameter::vgprs_per_simd_lane / std::max(8u, kernel.descriptor.total_vgprs()));
  // A workgroup's waves are spread over the SIMDs; it needs room on each for its share.
  const uint32_t waves_per_simd = (kernel.waves_per_group + parameter::simds_per_cu - 1) / parameter::simds_per_cu;
  uint32_t groups = waves_by_registers * parameter::simds_per_cu / kernel.waves_per_group;
  if (waves_per_simd > waves_by_registers) groups = 0;
  const uint32_t slots = kernel.waves_per_group == 1 ? 2 * parameter::workgroups_per_cu : parameter::workgroups_per_cu;
  groups = std::min(groups, slots);
  const uint32_t lds = allocated_lds(kernel.request.group_segment_size);
  if (lds > 0) groups = std::min<uint32_t>(groups, parameter::lds_bytes_per_cu / lds);
  return groups;
}

}  // namespace rpd
