#include "tracer/kernel_registers.h"

namespace rpd::tracer {
namespace {

uint32_t bits(uint32_t word, int low, int width) { return word >> low & ((1u << width) - 1); }

}  // namespace

// Fields and granules follow LLVM AMDGPUUsage, compute_pgm_rsrc1 to rsrc3. Where the code deviates from that (SGPRs are counted
// in units of 16, and there are always 128 from gfx10 on), it follows rocprofiler-sdk, because readers of a trace expect
// rocprofiler-sdk's numbers.
KernelRegisters kernel_registers(const KernelDescriptor& descriptor, std::string_view isa) {
  const uint32_t vgpr_granules = bits(descriptor.rsrc1, 0, 6) + 1;
  const uint32_t sgpr_granules = bits(descriptor.rsrc1, 6, 4);
  const bool wave32 = bits(descriptor.properties, 10, 1) != 0;
  const bool unified = isa == "gfx90a" || isa.starts_with("gfx94") || isa.starts_with("gfx95");

  KernelRegisters registers{};
  // The names of gfx10 and later targets have four digits; these targets always allocate all SGPRs to a wave.
  const bool gfx10_or_later = isa.size() >= 7;
  registers.sgprs = gfx10_or_later ? 128 : (sgpr_granules / 2 + 1) * 16;
  if (unified) {
    const uint32_t accum_offset = (bits(descriptor.rsrc3, 0, 6) + 1) * 4;
    registers.arch_vgprs = accum_offset;
    registers.accum_vgprs = vgpr_granules * 8 - accum_offset;
  } else {
    registers.arch_vgprs = vgpr_granules * (wave32 ? 8 : 4);
    registers.accum_vgprs = isa == "gfx908" ? registers.arch_vgprs : 0;
  }
  return registers;
}

}  // namespace rpd::tracer
