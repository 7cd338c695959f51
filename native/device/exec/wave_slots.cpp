#include "exec/wave_slots.h"

#include <bit>

namespace rpd {
namespace {

// Takes the lowest free slot of up to 16; the last one if all are taken.
uint32_t take(uint16_t& taken) {
  const auto slot = static_cast<uint32_t>(std::countr_one(taken));
  if (slot >= 16) return 15;
  taken = static_cast<uint16_t>(taken | 1u << slot);
  return slot;
}
void give_back(uint16_t& taken, uint32_t slot) { taken = static_cast<uint16_t>(taken & ~(1u << slot)); }

// HW_ID of gfx9: WAVE_ID 3:0, SIMD_ID 5:4, PIPE_ID 7:6, CU_ID 11:8, SH_ID 12, SE_ID 15:13, TG_ID 19:16, VM_ID 23:20,
// QUEUE_ID 26:24, STATE_ID 29:27, ME_ID 31:30. The dispatcher serves the shader engines in turn. The driver assigns
// compute processes virtual memory ids from 8 on; the first compute micro engine is ME 1.
uint32_t hardware_id(uint32_t cu, uint32_t group, uint32_t simd, uint32_t slot) {
  const uint32_t engines = target::shader_engines_per_xcd();
  constexpr uint32_t first_vmid = 8, compute_engine = 1;
  return slot | simd << 4 | cu / engines << 8 | cu % engines << 13 | group << 16 | first_vmid << 20 | compute_engine << 30;
}

// VGPR_SIZE 11:6 in units of 8, ACCV_OFFSET 17:12 in units of 4, SGPR_SIZE 27:24 in units of 16, each minus one (the encoding
// that amdkfd's trap handler reads); the bases are not modelled.
uint32_t register_allocation(const Kernel& kernel) {
  constexpr uint32_t sgprs = 112 / 16 - 1;
  return (kernel.descriptor.total_vgprs() / 8 - 1) << 6 | (kernel.descriptor.accumulator_offset() / 4 - 1) << 12 | sgprs << 24;
}

// LDS_BASE 7:0 and LDS_SIZE 20:12, in units of 256 bytes; the allocation granule is 512.
uint32_t lds_allocation(const Kernel& kernel, uint32_t group) {
  constexpr uint32_t unit = 256;
  const uint32_t size = target::allocated_lds(kernel.request.group_segment_size) / unit;
  return (group * size & 0xff) | size << 12;
}

}  // namespace

void WaveSlots::enter(const Kernel& kernel, Workgroup& group) {
  Unit& unit = units_[group.cu];
  group.cu_slot = take(unit.groups);
  for (Wave& wave : group.waves) {
    const uint32_t simd = ++unit.launched % target::kSimdsPerCu;
    const uint32_t slot = take(unit.waves[simd]);
    wave.hardware = {hardware_id(group.cu, group.cu_slot, simd, slot), xcd_, register_allocation(kernel),
                     lds_allocation(kernel, group.cu_slot)};
  }
}

void WaveSlots::leave(const Workgroup& group) {
  Unit& unit = units_[group.cu];
  give_back(unit.groups, group.cu_slot);
  for (const Wave& wave : group.waves) give_back(unit.waves[wave.hardware.id >> 4 & 3], wave.hardware.id & 0xf);
}

}  // namespace rpd
