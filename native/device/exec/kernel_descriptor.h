// The kernel descriptor (LLVM AMDGPUUsage, "Code Object V3 Kernel Descriptor"), for all targets.
#pragma once

#include <cstdint>
#include <cstring>

#include "isa/target.h"
#include "memory/address_space.h"

namespace rpd {

struct KernelDescriptor {
  uint32_t group_segment_fixed_size;    // bytes
  uint32_t private_segment_fixed_size;  // bytes per work-item
  uint32_t kernarg_size;
  uint8_t reserved0[4];
  int64_t kernel_code_entry_byte_offset;
  uint8_t reserved1[20];
  uint32_t compute_pgm_rsrc3;
  uint32_t compute_pgm_rsrc1;
  uint32_t compute_pgm_rsrc2;
  uint16_t kernel_code_properties;
  uint16_t kernarg_preload;
  uint8_t reserved2[4];

  uint32_t wave_size() const { return has(kWavefrontSize32) ? 32 : 64; }
  // The number of registers per lane, architectural and accumulation together. On gfx10, the allocation granule of 64-lane
  // waves is half as large.
  uint32_t total_vgprs() const {
    const bool by_fours = target_of_device().rules.has_wave32 && wave_size() == 64;
    return ((compute_pgm_rsrc1 & 0x3f) + 1) * (by_fours ? 4 : 8);
  }
  // The index of the first accumulation register; total_vgprs() on gfx10, which has none.
  uint32_t accumulator_offset() const {
    return target_of_device().rules.has_wave32 ? total_vgprs() : ((compute_pgm_rsrc3 & 0x3f) + 1) * 4;
  }
  // The number of registers that hold the work-item's ids, on targets where each id has a separate register.
  int work_item_ids() const { return static_cast<int>(compute_pgm_rsrc2 >> 11 & 3) + 1; }
  // The initial MODE: rounding and denormals, DX10_CLAMP, IEEE, FP16_OVFL.
  uint32_t mode() const {
    return (compute_pgm_rsrc1 >> 12 & 0xff) | (compute_pgm_rsrc1 >> 21 & 1) << 8 | (compute_pgm_rsrc1 >> 23 & 1) << 9 |
           (compute_pgm_rsrc1 >> 26 & 1) << 23;
  }
  bool wgp_mode() const { return compute_pgm_rsrc1 >> 29 & 1; }  // gfx10: a workgroup may use both CUs of a WGP
  // Whether an SGPR holds the wave's offset in private memory; with architected flat scratch, whether the kernel has private
  // memory.
  bool private_offset_enabled() const { return compute_pgm_rsrc2 & 1; }
  bool workgroup_id_enabled(int axis) const { return compute_pgm_rsrc2 >> (7 + axis) & 1; }
  bool workgroup_info_enabled() const { return compute_pgm_rsrc2 >> 10 & 1; }
  uint32_t preload_length() const { return kernarg_preload & 0x7f; }  // dwords
  uint32_t preload_offset() const { return kernarg_preload >> 7 & 0x1ff; }  // dwords

  enum Property : uint16_t {
    kPrivateSegmentBuffer = 1 << 0,
    kDispatchPtr = 1 << 1,
    kQueuePtr = 1 << 2,
    kKernargSegmentPtr = 1 << 3,
    kDispatchId = 1 << 4,
    kFlatScratchInit = 1 << 5,
    kPrivateSegmentSize = 1 << 6,
    kWavefrontSize32 = 1 << 10,
  };
  bool has(Property property) const { return kernel_code_properties & property; }

  static KernelDescriptor read(const AddressSpace& memory, uint64_t address) {
    KernelDescriptor descriptor;
    std::memcpy(&descriptor, memory.at(address), sizeof descriptor);
    return descriptor;
  }
};
static_assert(sizeof(KernelDescriptor) == 64);

}  // namespace rpd
