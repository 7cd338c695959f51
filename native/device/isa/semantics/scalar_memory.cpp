// SMEM: loads through the scalar cache.
#include "exec/observer.h"
#include "exec/operands.h"

namespace rpd {
namespace {

int64_t offset_of(const Op& op, const Wave& wave) {
  // "s_load_dword s0, s[2:3], s4 offset:0x10": the register offset is unsigned 32-bit.
  return int64_t{read_scalar<uint32_t>(op.source[1], wave)} + op.offset;
}

template <int Dwords>
void load(const Op& op, Wave& wave) {
  uint64_t address = read_scalar<uint64_t>(op.source[0], wave);
  address += op.source[1].kind == Operand::Kind::Constant ? static_cast<int32_t>(op.source[1].constant) + op.offset
                                                          : offset_of(op, wave);
  address &= ~uint64_t{3};
  if (!wave.may_access(op, address, Dwords * 4, false)) return;
  std::memcpy(&wave.scalar[op.destination.reg], wave.memory->at(address), Dwords * 4);
  wave.observer->scalar_access(wave, address, Dwords * 4);
}

// Buffer descriptors: base 47:0, stride 61:48, records 95:64. Out-of-range dwords read 0.
template <int Dwords>
void buffer_load(const Op& op, Wave& wave) {
  const unsigned descriptor = op.source[0].reg;
  const uint64_t base = wave.scalar64(descriptor) & 0xffffffffffffull;
  const uint32_t records = wave.scalar[descriptor + 2];
  const uint32_t stride = wave.scalar[descriptor + 1] >> 16 & 0x3fff;
  const uint64_t size = stride ? uint64_t{records} * stride : records;
  const uint64_t begin = static_cast<uint64_t>(offset_of(op, wave)) & ~uint64_t{3};
  for (int i = 0; i < Dwords; ++i) {
    const uint64_t at = begin + 4 * i;
    if (at + 4 <= size && !wave.may_access(op, base + at, 4, false)) return;
    wave.scalar[op.destination.reg + i] = at + 4 <= size ? *wave.memory->at<uint32_t>(base + at) : 0;
  }
  wave.observer->scalar_access(wave, base + begin, Dwords * 4);
}

// The modelled clock of the wave: differences within a wave mean something, nothing else does.
void read_clock(const Op& op, Wave& wave) { wave.set_scalar64(op.destination.reg, wave.clock); }
void nothing(const Op&, Wave&) {}

constexpr Semantics loads(const char* name, Execute execute, Type base) {
  return {.mnemonic = name, .execute = execute, .unit = Unit::Smem, .source_types = {base, Type::I32}};
}

const Semantics kTable[] = {
    loads("s_load_dword", load<1>, Type::B64),
    loads("s_load_dwordx2", load<2>, Type::B64),
    loads("s_load_dwordx4", load<4>, Type::B64),
    loads("s_load_dwordx8", load<8>, Type::B64),
    loads("s_load_dwordx16", load<16>, Type::B64),
    loads("s_buffer_load_dword", buffer_load<1>, Type::B64),
    loads("s_buffer_load_dwordx2", buffer_load<2>, Type::B64),
    loads("s_buffer_load_dwordx4", buffer_load<4>, Type::B64),
    loads("s_buffer_load_dwordx8", buffer_load<8>, Type::B64),
    loads("s_buffer_load_dwordx16", buffer_load<16>, Type::B64),
    {"s_memtime", read_clock, Unit::Smem, 1, Type::B64},
    {"s_memrealtime", read_clock, Unit::Smem, 1, Type::B64},
    {"s_dcache_inv", nothing, Unit::CacheControl, 0, Type::None},
    {"s_dcache_wb", nothing, Unit::CacheControl, 0, Type::None},
    {"s_dcache_inv_vol", nothing, Unit::CacheControl, 0, Type::None},
    {"s_dcache_wb_vol", nothing, Unit::CacheControl, 0, Type::None},
};

}  // namespace

std::span<const Semantics> scalar_memory_semantics() { return kTable; }

}  // namespace rpd
