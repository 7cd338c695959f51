// The numbers of registers that a kernel allocates, from its kernel descriptor. rocprofv3 writes the same numbers to its
// database.
#pragma once

#include <cstdint>
#include <string_view>

namespace rpd::tracer {

// The descriptor as the loader places it in memory, 64 bytes [LLVM AMDGPUUsage, "Kernel Descriptor"].
struct KernelDescriptor {
  uint8_t reserved0[16];
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t rsrc3, rsrc1, rsrc2;
  uint16_t properties;
  uint8_t reserved2[6];
};
static_assert(sizeof(KernelDescriptor) == 64);

struct KernelRegisters {
  uint32_t sgprs, arch_vgprs, accum_vgprs;
};

// `isa` is the agent's name, e.g. "gfx942". Registers are allocated in granules, so the numbers are multiples of the granule
// size. With a unified register file, the number of accumulation registers includes everything after accum_offset, not just
// what the kernel uses.
KernelRegisters kernel_registers(const KernelDescriptor& descriptor, std::string_view isa);

}  // namespace rpd::tracer
