// MUBUF: loads, stores and atomics through a buffer resource descriptor. Loads and stores are checked against the buffer's
// range dword by dword, atomics and narrow accesses as a whole.
#include <array>

#include "exec/atomics.h"
#include "exec/buffer_access.h"
#include "exec/lane_values.h"
#include "exec/lds_transfer.h"
#include "exec/operands.h"
#include "exec/semantics/common_memory_rows.h"

namespace rpd {
namespace {

// Performs the access for any instruction in this file.
template <class Access, class Transfer = NoTransfer>
void for_each_lane(const Op& op, Wave& wave, AccessKind kind, uint32_t unit, Access access, const Transfer& transfer = {}) {
  for_each_buffer_lane(op, wave, BufferDescriptor(wave, op.source[1]), kind, unit, op.semantics->bytes, access, transfer);
}

// ---- loads ----

template <class T>
T read_or_zero(const uint8_t* source, uint32_t bytes) {
  T value{};
  if (source) std::memcpy(&value, source, bytes);
  return value;
}

template <class T>
void load_to_lds(const Op& op, Wave& wave) {
  LdsTransfer to_lds(op, wave);
  for_each_lane(op, wave, AccessKind::Load, sizeof(T), [&to_lds](int l, const uint8_t* source, uint32_t bytes) {
    to_lds.store(l, static_cast<uint32_t>(static_cast<int32_t>(read_or_zero<T>(source, bytes))));
  });
  to_lds.finish();
}

template <int Dwords>
void load_dwords_to_lds(const Op& op, Wave& wave) {
  LdsTransfer to_lds(op, wave, 4 * Dwords);
  for_each_lane(op, wave, AccessKind::Load, sizeof(uint32_t), [&to_lds](int l, const uint8_t* source, uint32_t bytes) {
    to_lds.store(l, read_or_zero<std::array<uint32_t, Dwords>>(source, bytes).data());
  });
  to_lds.finish();
}

template <int Dwords>
void load_dwords(const Op& op, Wave& wave) {
  if (op.to_lds) return load_dwords_to_lds<Dwords>(op, wave);
  uint32_t* reg = wave.registers(op.destination);
  const auto load = [reg](int l, const uint8_t* source, uint32_t bytes) {
    const auto values = read_or_zero<std::array<uint32_t, Dwords>>(source, bytes);
    for (int i = 0; i < Dwords; ++i) reg[i * kLanes + l] = values[i];
  };
  for_each_lane(op, wave, AccessKind::Load, sizeof(uint32_t), load, LoadDwords<Dwords>{reg});
}

template <class T, Half16 Where>
void load_narrow(const Op& op, Wave& wave) {
  if constexpr (Where == Half16::Whole) {
    if (op.to_lds) return load_to_lds<T>(op, wave);
  }
  uint32_t* reg = wave.registers(op.destination);
  for_each_lane(op, wave, AccessKind::Load, sizeof(T), [&op, reg](int l, const uint8_t* source, uint32_t bytes) {
    reg[l] = loaded_narrow<Where>(op, reg[l], static_cast<uint32_t>(static_cast<int32_t>(read_or_zero<T>(source, bytes))));
  });
}

// ---- stores ----

template <int Dwords>
void store_dwords(const Op& op, Wave& wave) {
  const uint32_t* reg = wave.registers(op.source[3]);
  const auto store = [reg](int l, uint8_t* destination, uint32_t bytes) {
    uint32_t values[Dwords];
    for (int i = 0; i < Dwords; ++i) values[i] = reg[i * kLanes + l];
    if (destination) std::memcpy(destination, values, bytes);
  };
  for_each_lane(op, wave, AccessKind::Store, sizeof(uint32_t), store, StoreDwords<Dwords>{reg});
}

template <class T, int Shift>
void store_narrow(const Op& op, Wave& wave) {
  const uint32_t* reg = wave.registers(op.source[3]);
  for_each_lane(op, wave, AccessKind::Store, sizeof(T), [reg](int l, uint8_t* destination, uint32_t) {
    const T value = static_cast<T>(reg[l] >> Shift);
    if (destination) std::memcpy(destination, &value, sizeof value);
  });
}

// ---- atomics: the data register is also the destination ----

template <class T, auto F>
void update(const Op& op, Wave& wave) {
  uint32_t* data = wave.registers(op.source[3]);
  for_each_lane(op, wave, AccessKind::Atomic, sizeof(T), [&op, data](int l, uint8_t* pointer, uint32_t) {
    const T old = pointer ? atomic_update<T, F>(reinterpret_cast<T*>(pointer), lane_value<T>(data, l)) : T{};
    if (op.returns) set_lane(data, l, old);
  });
}

// The data registers hold the new value, followed by the value to compare with.
template <class T>
void compare_swap(const Op& op, Wave& wave) {
  uint32_t* data = wave.registers(op.source[3]);
  for_each_lane(op, wave, AccessKind::Atomic, sizeof(T), [&op, data](int l, uint8_t* pointer, uint32_t) {
    const T compare = lane_value<T>(data + sizeof(T) / 4 * kLanes, l);
    const T old = pointer ? atomic_compare_swap(reinterpret_cast<T*>(pointer), compare, lane_value<T>(data, l)) : T{};
    if (op.returns) set_lane(data, l, old);
  });
}

// ---- the table ----

constexpr Semantics buffer(const char* name, Execute execute, Unit unit, int bytes) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = unit,
          .destinations = static_cast<uint8_t>(unit == Unit::VectorLoad ? 1 : 0),
          .destination_type = Type::B32,
          .source_types = {Type::B32, Type::B32, Type::B32, Type::B32},
          .space = Space::Buffer,
          .bytes = static_cast<uint8_t>(bytes)};
}

constexpr Semantics updates(const char* name, Execute execute, Update kind, int bytes) {
  Semantics entry = buffer(name, execute, Unit::VectorAtomic, bytes);
  entry.update = kind;
  return entry;
}

#define LOAD(NAME, EXECUTE, BYTES) buffer("buffer_load_" NAME, EXECUTE, Unit::VectorLoad, BYTES)
#define STORE(NAME, EXECUTE, BYTES) buffer("buffer_store_" NAME, EXECUTE, Unit::VectorStore, BYTES)
#define ATOMIC_ONE(NAME, KIND, EXECUTE, BYTES) updates("buffer_atomic_" NAME, EXECUTE, Update::KIND, BYTES)

const Semantics kTable[] = {
    COMMON_LOADS,

    COMMON_STORES,

    COMMON_ATOMICS,
    ATOMIC_ONE("pk_add_bf16", Float, (update<uint32_t, atomic::packed_bfloat_add>), 4),
};

}  // namespace

std::span<const Semantics> vector_buffer_semantics() { return kTable; }

}  // namespace rpd
