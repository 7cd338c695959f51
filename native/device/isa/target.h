// The GPU that the device models: a family, plus the dimensions of one product as given in its parameter table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "timing_parameters.inc.h"

namespace rpd {

constexpr int kLanes = 64;  // the largest number of lanes in a wave
constexpr int kRowLanes = 16;  // the lanes of a row, and the width of many two-dimensional workgroups
constexpr int kRows = kLanes / kRowLanes;

// How GPU generations differ (sources: the CDNA 4 and RDNA 2 ISA documents; LLVM's GCNSubtarget and AMDGPUUsage).
struct IsaRules {
  bool has_wave32;           // kernels say whether their waves have 32 lanes
  bool packs_work_item_ids;  // all three ids are in v0
  bool keeps_halves;         // 16-bit results and loads leave the register's other half unchanged
  bool counts_stores_apart;  // stores are counted in VSCNT, the counter for which s_waitcnt_vscnt waits
  bool compares_exec_alone;  // v_cmpx writes no register other than EXEC
  uint16_t sgprs;            // number of SGPRs, not counting those with names of their own
  uint8_t permuted_lanes;    // number of lanes among which ds_permute_b32 and ds_bpermute_b32 move values
  uint8_t max_scalar_wait;  // the largest LGKMCNT, which means no wait
  bool has_ocp_floats;       // 8-bit floats are OCP floats (e4m3fn, e5m2), not those with a single NaN (FNUZ)
};

// The properties of a family, except for its instruction set, which the disassembler knows.
struct Target {
  std::string_view name;    // as in the names of the parameter tables
  const char* isa_name;     // of LLVM
  uint32_t version;         // gfx_target_version of the driver's topology
  // Private memory: if true, the dispatcher sets up FLAT_SCRATCH. Otherwise kernels get a buffer descriptor and set up
  // FLAT_SCRATCH themselves.
  bool architected_flat_scratch;
  bool has_xcc_id;
  bool names_scopes;        // loads, stores and fences say whether they are for other workgroups or the host (sc0, sc1)
  uint32_t l1s_per_cu;
  uint32_t l1_line_bytes;          // also the size of the L1's requests to the L2
  bool counts_l1_invalidations;    // whether invalidations at the beginning of dispatches are counted
  uint32_t l2_channels_per_xcd;
  uint32_t level_sum_event;        // the SQ's event that sums the value of the previous counter over cycles; 0: not modelled
  uint32_t scalar_caches_per_xcd;  // each serves two CUs, or one where the other is disabled
  uint32_t lds_bytes_per_workgroup;
  uint32_t lds_granule;            // the unit, in bytes, in which LDS is allocated (LLVM, AMDGPU::getLdsDwGranularity)
  IsaRules rules;
};

// The device has one target for the lifetime of a process. It is chosen before anything is decoded; the default is gfx942.
const Target& target_of_device();
// Also sets all parameters to the values in the target's table. Throws std::runtime_error if the device has no such target.
void choose_target(uint32_t version);
void choose_target(std::string_view name);
// The index of the target's table among the parameter tables.
size_t parameter_table();

// On targets with workgroup processors (WGPs: pairs of CUs that share their LDS), each WGP counts as a CU.
namespace target {

constexpr uint64_t kMaxInstructionBytes = 20;  // bytes

inline uint32_t xcds() { return static_cast<uint32_t>(parameter::xcds); }
inline uint32_t shader_engines_per_xcd() { return static_cast<uint32_t>(parameter::shader_engines_per_xcd); }
inline uint32_t cus_per_xcd() { return static_cast<uint32_t>(parameter::cus_per_xcd); }
constexpr uint32_t kSimdsPerCu = parameter::simds_per_cu;
inline uint32_t waves_per_simd() { return static_cast<uint32_t>(parameter::waves_per_simd); }
inline uint32_t vgprs_per_simd_lane() { return static_cast<uint32_t>(parameter::vgprs_per_simd_lane); }
inline uint32_t workgroups_per_cu() { return static_cast<uint32_t>(parameter::workgroups_per_cu); }
inline uint32_t lds_bytes_per_cu() { return static_cast<uint32_t>(parameter::lds_bytes_per_cu); }

inline uint32_t allocated_lds(uint32_t bytes) {
  const uint32_t granule = target_of_device().lds_granule;
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace target
}  // namespace rpd
