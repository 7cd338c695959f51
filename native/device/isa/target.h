// The GPU that the device models: a gfx942 with the dimensions of an MI300X, as given in the parameter table.
#pragma once

#include <cstdint>

#include "timing_parameters.inc.h"

namespace rpd {

constexpr int kLanes = 64;  // per wave

namespace target {

constexpr const char* kIsaName = "amdgcn-amd-amdhsa--gfx942";
constexpr uint64_t kLongestInstruction = 20;  // bytes

inline uint32_t xcds() { return static_cast<uint32_t>(parameter::xcds); }
constexpr uint32_t kShaderEnginesPerXcd = parameter::shader_engines_per_xcd;
constexpr uint32_t kCusPerXcd = parameter::cus_per_xcd;
constexpr uint32_t kSimdsPerCu = parameter::simds_per_cu;
constexpr uint32_t kWavesPerSimd = parameter::waves_per_simd;
constexpr uint32_t kVgprsPerSimdLane = parameter::vgprs_per_simd_lane;
constexpr uint32_t kWorkgroupsPerCu = parameter::workgroups_per_cu;
constexpr uint32_t kLdsBytesPerCu = parameter::lds_bytes_per_cu;

// LDS is handed out in granules of 512 bytes (COMPUTE_PGM_RSRC2.LDS_SIZE, 128 dwords on gfx9).
constexpr uint32_t allocated_lds(uint32_t bytes) {
  constexpr uint32_t granule = 512;
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace target
}  // namespace rpd
