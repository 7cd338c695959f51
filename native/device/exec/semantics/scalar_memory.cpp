// SMEM: loads, stores and atomics through the scalar cache. In this model, the cache is never stale.
#include "exec/atomics.h"
#include "exec/instruction_events.h"
#include "exec/operands.h"

namespace rpd {
namespace {

// "s_load_dword s0, s[2:3], s4 offset:0x10": an offset in a register is unsigned and has 32 bits; a constant offset is signed.
int64_t offset_of(const Op& op, const Wave& wave, const Operand& offset) {
  if (offset.kind == Operand::Kind::Constant) return static_cast<int32_t>(offset.constant) + op.offset;
  return int64_t{read_scalar<uint32_t>(offset, wave)} + op.offset;
}
uint64_t address_of(const Op& op, const Wave& wave, const Operand& base, const Operand& offset) {
  return (read_scalar<uint64_t>(base, wave) + offset_of(op, wave, offset)) & ~uint64_t{3};
}

// Buffer descriptors: base 47:0, stride 61:48, records 95:64.
struct ScalarBuffer {
  uint64_t base, size;  // size: in bytes

  ScalarBuffer(const Wave& wave, const Operand& operand) {
    const uint32_t* word = &wave.scalar[operand.reg];
    const uint32_t stride = word[1] >> 16 & 0x3fff;
    base = wave.scalar64(operand.reg) & 0xffffffffffffull;
    size = stride ? uint64_t{word[2]} * stride : word[2];
  }
};

template <int Dwords>
void load(const Op& op, Wave& wave) {
  const uint64_t address = address_of(op, wave, op.source[0], op.source[1]);
  if (!wave.may_access(op, address, Dwords * 4, false)) return;
  std::memcpy(&wave.scalar[op.destination.reg], wave.memory->at(address), Dwords * 4);
  wave.observer->scalar_access(wave, address, Dwords * 4);
}

// Out-of-range dwords read 0.
template <int Dwords>
void buffer_load(const Op& op, Wave& wave) {
  const ScalarBuffer buffer(wave, op.source[0]);
  const uint64_t begin = static_cast<uint64_t>(offset_of(op, wave, op.source[1])) & ~uint64_t{3};
  for (int i = 0; i < Dwords; ++i) {
    const uint64_t offset = begin + 4 * i;
    const bool inside = offset + 4 <= buffer.size;
    if (inside && !wave.may_access(op, buffer.base + offset, 4, false)) return;
    wave.scalar[op.destination.reg + i] = inside ? *wave.memory->at<uint32_t>(buffer.base + offset) : 0;
  }
  wave.observer->scalar_access(wave, buffer.base + begin, Dwords * 4);
}

// ---- stores and atomics: the data register is the first source and, with glc, receives an atomic's old value ----

template <int Dwords>
void store(const Op& op, Wave& wave) {
  const uint64_t address = address_of(op, wave, op.source[1], op.source[2]);
  if (!wave.may_access(op, address, Dwords * 4, true)) return;
  std::memcpy(wave.memory->at<uint8_t>(address), &wave.scalar[op.source[0].reg], Dwords * 4);
  wave.observer->scalar_access(wave, address, Dwords * 4);
}

// Out-of-range dwords are not written.
template <int Dwords>
void buffer_store(const Op& op, Wave& wave) {
  const ScalarBuffer buffer(wave, op.source[1]);
  const uint64_t begin = static_cast<uint64_t>(offset_of(op, wave, op.source[2])) & ~uint64_t{3};
  for (int i = 0; i < Dwords; ++i) {
    const uint64_t offset = begin + 4 * i;
    if (offset + 4 > buffer.size) continue;
    if (!wave.may_access(op, buffer.base + offset, 4, true)) return;
    *wave.memory->at<uint32_t>(buffer.base + offset) = wave.scalar[op.source[0].reg + i];
  }
  wave.observer->scalar_access(wave, buffer.base + begin, Dwords * 4);
}

// The address of an atomic, or null if it is not performed because it is out of the buffer's range or raises a fault.
template <class T, bool Buffer>
T* atomic_pointer(const Op& op, Wave& wave) {
  uint64_t address;
  if constexpr (Buffer) {
    const ScalarBuffer buffer(wave, op.source[1]);
    const uint64_t offset = static_cast<uint64_t>(offset_of(op, wave, op.source[2])) & ~uint64_t{3};
    if (offset + sizeof(T) > buffer.size) return nullptr;
    address = buffer.base + offset;
  } else {
    address = address_of(op, wave, op.source[1], op.source[2]);
  }
  if (address % sizeof(T)) {
    wave.raise("misaligned atomic", address, FaultKind::ApertureViolation);
    return nullptr;
  }
  if (!wave.may_access(op, address, sizeof(T), true)) return nullptr;
  wave.observer->scalar_access(wave, address, sizeof(T));
  return wave.memory->at<T>(address);
}

template <class T, auto F, bool Buffer>
void update(const Op& op, Wave& wave) {
  T* pointer = atomic_pointer<T, Buffer>(op, wave);
  const T old = pointer ? atomic_update<T, F>(pointer, read_scalar<T>(op.source[0], wave)) : T{};
  if (op.returns) write_scalar(op.source[0], wave, old);
}

// The data registers hold the new value, followed by the value to compare with.
template <class T, bool Buffer>
void compare_swap(const Op& op, Wave& wave) {
  T* pointer = atomic_pointer<T, Buffer>(op, wave);
  Operand compare = op.source[0];
  compare.reg = static_cast<uint16_t>(compare.reg + sizeof(T) / 4);
  const T old = pointer ? atomic_compare_swap(pointer, read_scalar<T>(compare, wave), read_scalar<T>(op.source[0], wave)) : T{};
  if (op.returns) write_scalar(op.source[0], wave, old);
}

// The wave's modelled clock: only differences within one wave are meaningful.
void read_clock(const Op& op, Wave& wave) { wave.set_scalar64(op.destination.reg, wave.observer->clock(wave)); }
void nothing(const Op&, Wave&) {}

constexpr Semantics loads(const char* name, Execute execute, Type base) {
  return {.mnemonic = name, .execute = execute, .unit = Unit::Smem, .source_types = {base, Type::I32}};
}

constexpr Semantics writes(const char* name, Execute execute) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = Unit::Smem,
          .destinations = 0,
          .destination_type = Type::None,
          .source_types = {Type::B64, Type::B64, Type::I32}};
}

constexpr Semantics stores(const char* name, Execute execute) {
  Semantics entry = writes(name, execute);
  entry.stores = true;
  return entry;
}
constexpr Semantics updates(const char* name, Execute execute, Update kind) {
  Semantics entry = writes(name, execute);
  entry.update = kind;
  return entry;
}
constexpr Semantics controls_cache(const char* name, CacheControl control) {
  return {.mnemonic = name,
          .execute = nothing,
          .unit = Unit::CacheControl,
          .destinations = 0,
          .destination_type = Type::None,
          .cache_control = control};
}

#define ATOMIC_OF(BUFFER_OR_NOT, BUFFER, NAME, KIND, FUNCTION, T32, T64)                           \
  updates(BUFFER_OR_NOT "atomic_" NAME, update<T32, atomic::FUNCTION<T32>, BUFFER>, Update::KIND), \
      updates(BUFFER_OR_NOT "atomic_" NAME "_x2", update<T64, atomic::FUNCTION<T64>, BUFFER>, Update::KIND)
#define ATOMIC(NAME, KIND, FUNCTION, T32, T64) \
  ATOMIC_OF("s_", false, NAME, KIND, FUNCTION, T32, T64), ATOMIC_OF("s_buffer_", true, NAME, KIND, FUNCTION, T32, T64)

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
    stores("s_store_dword", store<1>),
    stores("s_store_dwordx2", store<2>),
    stores("s_store_dwordx4", store<4>),
    stores("s_buffer_store_dword", buffer_store<1>),
    stores("s_buffer_store_dwordx2", buffer_store<2>),
    stores("s_buffer_store_dwordx4", buffer_store<4>),
    ATOMIC("add", Add, add, uint32_t, uint64_t),
    ATOMIC("sub", Add, subtract, uint32_t, uint64_t),
    ATOMIC("smin", SignedMinimum, smaller, int32_t, int64_t),
    ATOMIC("umin", UnsignedMinimum, smaller, uint32_t, uint64_t),
    ATOMIC("smax", SignedMaximum, larger, int32_t, int64_t),
    ATOMIC("umax", UnsignedMaximum, larger, uint32_t, uint64_t),
    ATOMIC("and", And, bit_and, uint32_t, uint64_t),
    ATOMIC("or", Or, bit_or, uint32_t, uint64_t),
    ATOMIC("xor", Xor, bit_xor, uint32_t, uint64_t),
    ATOMIC("swap", Exchange, swap, uint32_t, uint64_t),
    ATOMIC("inc", Increment, increment, uint32_t, uint64_t),
    ATOMIC("dec", Decrement, decrement, uint32_t, uint64_t),
    updates("s_atomic_cmpswap", compare_swap<uint32_t, false>, Update::Exchange),
    updates("s_atomic_cmpswap_x2", compare_swap<uint64_t, false>, Update::Exchange),
    updates("s_buffer_atomic_cmpswap", compare_swap<uint32_t, true>, Update::Exchange),
    updates("s_buffer_atomic_cmpswap_x2", compare_swap<uint64_t, true>, Update::Exchange),
    {"s_memtime", read_clock, Unit::Smem, 1, Type::B64},
    {"s_memrealtime", read_clock, Unit::Smem, 1, Type::B64},
    controls_cache("s_dcache_inv", CacheControl::InvalidateScalar),
    controls_cache("s_gl1_inv", CacheControl::OtherScalar),
    controls_cache("s_dcache_wb", CacheControl::OtherScalar),
    controls_cache("s_dcache_inv_vol", CacheControl::InvalidateScalar),
    controls_cache("s_dcache_wb_vol", CacheControl::OtherScalar),
};

}  // namespace

std::span<const Semantics> scalar_memory_semantics() { return kTable; }

}  // namespace rpd
