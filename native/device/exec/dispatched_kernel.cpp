#include "exec/dispatched_kernel.h"

#include <algorithm>

#include "isa/target.h"

namespace rpd {
namespace {

// The number of waves for which a SIMD has enough registers and slots. The target's table gives the number of registers per
// lane of a SIMD; waves with twice as many lanes get half that number.
uint32_t waves_by_registers(const DispatchedKernel& kernel) {
  const bool rdna = target_of_device().rules.has_wave32;
  const uint32_t granule = rdna ? 512 / kernel.wave_size : 8;
  const uint32_t file = target::vgprs_per_simd_lane() / (rdna ? kernel.wave_size / 32 : 1);
  const uint32_t allocated = (std::max(1u, kernel.descriptor.total_vgprs()) + granule - 1) / granule * granule;
  return std::min(target::waves_per_simd(), file / allocated);
}

}  // namespace

uint32_t resident_workgroups(const DispatchedKernel& kernel) {
  // In CU mode, a workgroup has one of a WGP's two CUs to itself.
  const uint32_t parts = target_of_device().rules.has_wave32 && !kernel.descriptor.wgp_mode() ? 2 : 1;
  const uint32_t simds = target::kSimdsPerCu / parts, waves_of_simd = waves_by_registers(kernel);
  // A workgroup's waves are spread over the SIMDs; each SIMD needs room for its share.
  const uint32_t waves_per_simd = (kernel.waves_per_group + simds - 1) / simds;
  uint32_t groups = waves_of_simd * simds / kernel.waves_per_group;
  if (waves_per_simd > waves_of_simd) groups = 0;
  const uint32_t slots = target::workgroups_per_cu() / parts;
  groups = std::min(groups, kernel.waves_per_group == 1 ? 2 * slots : slots);
  const uint32_t lds = target::allocated_lds(kernel.request.group_segment_size);
  if (lds > 0) groups = std::min<uint32_t>(groups, target::lds_bytes_per_cu() / parts / lds);
  return groups * parts;
}

}  // namespace rpd
