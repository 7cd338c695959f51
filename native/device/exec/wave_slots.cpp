#include "exec/wave_slots.h"

#include <bit>

namespace rpd {
namespace {

// Takes the lowest free slot of 16, or the last one if all are taken.
uint32_t take(uint16_t& occupied) {
  const auto slot = static_cast<uint32_t>(std::countr_one(occupied));
  if (slot >= 16) return 15;
  occupied = static_cast<uint16_t>(occupied | 1u << slot);
  return slot;
}
void give_back(uint16_t& occupied, uint32_t slot) { occupied = static_cast<uint16_t>(occupied & ~(1u << slot)); }

// HW_ID of gfx9: WAVE_ID 3:0, SIMD_ID 5:4, PIPE_ID 7:6, CU_ID 11:8, SH_ID 12, SE_ID 15:13, TG_ID 19:16, VM_ID 23:20,
// QUEUE_ID 26:24, STATE_ID 29:27, ME_ID 31:30. The dispatcher serves the shader engines in turn. The driver assigns
// compute processes virtual memory ids starting with 8; the first compute micro engine is ME 1.
uint32_t hardware_id(uint32_t cu, uint32_t group, uint32_t simd, uint32_t slot) {
  const uint32_t engines = target::shader_engines_per_xcd();
  constexpr uint32_t first_vmid = 8, compute_engine = 1;
  return slot | simd << 4 | cu / engines << 8 | cu % engines << 13 | group << 16 | first_vmid << 20 | compute_engine << 30;
}

// HW_ID1 of gfx10: WAVE_ID 4:0, SIMD_ID 9:8, WGP_ID 13:10, SA_ID 16, SE_ID 19:18. A shader engine has two arrays of WGPs.
uint32_t hardware_id1(uint32_t wgp, uint32_t simd, uint32_t slot) {
  const uint32_t engines = target::shader_engines_per_xcd(), in_engine = wgp / engines;
  return slot | simd << 8 | in_engine / 2 << 10 | in_engine % 2 << 16 | wgp % engines << 18;
}
// HW_ID2: QUEUE_ID 3:0, PIPE_ID 5:4, ME_ID 9:8, STATE_ID 14:12, WG_ID 20:16, VM_ID 27:24.
uint32_t hardware_id2(uint32_t group) {
  constexpr uint32_t first_vmid = 8, compute_engine = 1;
  return compute_engine << 8 | group << 16 | first_vmid << 24;
}

// VGPR_SIZE 11:6 in units of 8, ACCV_OFFSET 17:12 in units of 4, SGPR_SIZE 27:24 in units of 16, each minus one (the encoding
// that amdkfd's trap handler reads); the bases are not modelled.
uint32_t register_allocation(const DispatchedKernel& kernel) {
  constexpr uint32_t sgprs = 112 / 16 - 1;
  return (kernel.descriptor.total_vgprs() / 8 - 1) << 6 | (kernel.descriptor.accumulator_offset() / 4 - 1) << 12 | sgprs << 24;
}

// LDS_BASE 7:0 and LDS_SIZE 20:12, in units of 256 bytes.
uint32_t lds_allocation(const DispatchedKernel& kernel, uint32_t group) {
  constexpr uint32_t unit = 256;
  const uint32_t size = target::allocated_lds(kernel.request.group_segment_size) / unit;
  return (group * size & 0xff) | size << 12;
}

}  // namespace

void WaveSlots::enter(const DispatchedKernel& kernel, Workgroup& group) {
  CuSlots& cu = cus_[group.cu];
  group.cu_slot = take(cu.groups);
  for (Wave& wave : group.waves) {
    const uint32_t simd = ++cu.launched % target::kSimdsPerCu;
    const uint32_t slot = take(cu.waves[simd]);
    wave.hardware = {.simd = static_cast<uint8_t>(simd), .slot = static_cast<uint8_t>(slot)};
    if (target_of_device().rules.has_wave32) {
      wave.hardware.id = hardware_id1(group.cu, simd, slot);
      wave.hardware.id2 = hardware_id2(group.cu_slot);
      continue;
    }
    wave.hardware.id = hardware_id(group.cu, group.cu_slot, simd, slot);
    wave.hardware.xcc = xcd_;
    wave.hardware.registers = register_allocation(kernel);
    wave.hardware.lds = lds_allocation(kernel, group.cu_slot);
  }
}

void WaveSlots::leave(const Workgroup& group) {
  CuSlots& cu = cus_[group.cu];
  give_back(cu.groups, group.cu_slot);
  for (const Wave& wave : group.waves) give_back(cu.waves[wave.hardware.simd], wave.hardware.slot);
}

}  // namespace rpd
