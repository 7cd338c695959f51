// FLAT, GLOBAL and SCRATCH: loads, stores and atomics for 64 lanes.
#include <algorithm>
#include <bit>

#include "exec/atomics.h"
#include "exec/instruction_events.h"
#include "exec/lane_extent.h"
#include "exec/lane_transfer.h"
#include "exec/lane_values.h"
#include "exec/lds_range_check.h"
#include "exec/lds_transfer.h"
#include "exec/operands.h"
#include "exec/semantics/common_memory_rows.h"

namespace rpd {
namespace {

// The addresses of all lanes, enabled or not.
struct Addresses {
  uint64_t lane[kLanes];
};

// The operand that holds the scalar base: a store's or an atomic's comes after its data.
const Operand& base_of(const Op& op, AccessKind kind) { return op.source[kind == AccessKind::Load ? 1 : 2]; }

// global: a 64-bit vector address, or a scalar base plus a 32-bit vector offset.
void list_global(const Op& op, const Wave& wave, const Operand& base, Addresses& out) {
  const uint32_t* low = wave.registers(op.source[0]);
  if (base.kind == Operand::Kind::None) {
    const uint32_t* high = low + kLanes;
    for (int l = 0; l < kLanes; ++l) out.lane[l] = (low[l] | static_cast<uint64_t>(high[l]) << 32) + op.offset;
  } else {
    const uint64_t from = read_scalar<uint64_t>(base, wave) + op.offset;
    for (int l = 0; l < kLanes; ++l) out.lane[l] = from + low[l];
  }
}

// scratch: a byte offset into each lane's private memory.
void list_scratch(const Op& op, const Wave& wave, const Operand& base, Addresses& out) {
  const uint32_t from = op.offset + (base.kind == Operand::Kind::None ? 0 : read_scalar<uint32_t>(base, wave));
  if (op.source[0].kind == Operand::Kind::None) {
    for (int l = 0; l < kLanes; ++l) out.lane[l] = from;
  } else {
    const uint32_t* offset = wave.registers(op.source[0]);
    for (int l = 0; l < kLanes; ++l) out.lane[l] = static_cast<uint32_t>(from + offset[l]);
  }
}

void list_addresses(const Op& op, const Wave& wave, const Operand& base, Addresses& out) {
  if (op.semantics->space == Space::Scratch) return list_scratch(op, wave, base, out);
  list_global(op, wave, base, out);
}

// For each kind of memory, the lanes that access it.
struct Spaces {
  uint64_t global = 0, lds = 0, scratch = 0;
};

// The base alone decides which aperture is meant: the offset is added to the low 32 bits only. If these bits hold a negative
// number, the sum can thus still be an address in the same aperture.
uint64_t aperture_of(const Op& op, uint64_t address) {
  const bool wrapped = static_cast<uint32_t>(address) < static_cast<uint32_t>(op.offset);
  const uint64_t base = (address - static_cast<uint32_t>(op.offset)) & kApertureMask;
  return wrapped && (base == kSharedAperture || base == kPrivateAperture) ? base : address & kApertureMask;
}

// Whether no lane's address or base can lie in an aperture.
bool far_below_apertures(const Addresses& addresses) {
  uint64_t bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= addresses.lane[l];
  return bits < kSharedAperture / 2;
}

Spaces split_by_space(const Op& op, uint64_t exec, Addresses& addresses) {
  if (op.semantics->space == Space::Global) return {exec, 0, 0};
  if (op.semantics->space == Space::Scratch) return {0, 0, exec};
  if (far_below_apertures(addresses)) return {exec, 0, 0};
  Spaces spaces;
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t bit = exec & uint64_t{1} << l;
    const uint64_t aperture = aperture_of(op, addresses.lane[l]);
    if (aperture == kSharedAperture) {
      spaces.lds |= bit;
      addresses.lane[l] &= ~kApertureMask;
    } else if (aperture == kPrivateAperture) {
      spaces.scratch |= bit;
      addresses.lane[l] &= ~kApertureMask;
    } else {
      spaces.global |= bit;
    }
  }
  return spaces;
}

constexpr const char* kMisaligned = "misaligned atomic";

constexpr int kMaxAccessBytes = 16;  // bytes per lane

// Performs an access that is partly or entirely out of range by way of a copy: see lds_range_check.h. An atomic leaves the LDS
// unchanged and returns 0.
template <class Access>
void access_edge_of_lds(Wave& wave, AccessKind kind, uint64_t address, uint32_t bytes, int lane, Access access) {
  alignas(8) uint8_t copy[kMaxAccessBytes] = {};
  if (kind != AccessKind::Atomic) load_lds(wave, address, bytes, copy);
  access(lane, copy);
  if (kind == AccessKind::Store) store_lds(wave, address, bytes, copy);
}

// Performs a load or store that has a pattern, if the range that it spans is accessible as a whole, and therefore contiguous in
// this process as well, and informs the observer. For any other access, does nothing and returns false.
template <class Access>
bool access_pattern(const Op& op, Wave& wave, AccessKind kind, const Access& access) {
  if (op.semantics->space == Space::Scratch) return false;
  const uint32_t bytes = op.semantics->bytes;
  const uint64_t exec = wave.exec();
  const uint32_t* low = wave.registers(op.source[0]);
  const LanePattern pattern = pattern_of(low, exec, bytes);
  if (pattern == LanePattern::Any || exec == 0) return false;
  const Operand& base = base_of(op, kind);
  const bool has_high = base.kind == Operand::Kind::None;
  const uint64_t from = op.offset + (has_high ? 0 : read_scalar<uint64_t>(base, wave));
  const auto address_of = [=](int l) { return from + (low[l] | (has_high ? uint64_t{low[l + kLanes]} << 32 : 0)); };
  const bool in_rows = pattern == LanePattern::Rows;
  if (has_high && !(in_rows ? advance_in_rows(low + kLanes, 0) : advance_by(low + kLanes, 0))) return false;
  uint64_t rows[kRows];
  VectorAccess done{kind, Space::Global, bytes, exec, rows, pattern, address_of(0), low[1] - low[0]};
  if (in_rows)
    for (int r = 0; r < kRows; ++r) rows[r] = address_of(r * kRowLanes);
  const AccessWindow range = extent(done);
  if (op.semantics->space == Space::Flat && range.begin + range.size >= kSharedAperture / 2) return false;
  if (!wave.is_accessible(op, range.begin, range.size, kind != AccessKind::Load)) return false;
  access_by_pattern(access, wave.memory->at<uint8_t>(range.begin), range.begin, done);
  wave.observer->vector_access(wave, op, done);
  return true;
}

// For accesses to a range that is accessible as a whole. Returns false if it is not.
template <class Access>
bool access_known(const Op& op, Wave& wave, bool writes, uint64_t lanes, const Addresses& addresses, const Access& access) {
  const AccessWindow all = extent(addresses.lane, lanes, op.semantics->bytes);
  if (!wave.is_accessible(op, all.begin, all.size, writes)) return false;
  access_each(access, wave.memory->at<uint8_t>(all.begin), all.begin, addresses.lane, lanes);
  return true;
}

// Calls `access(lane, host pointer)` for each enabled lane, and informs the observer.
template <class Access>
[[gnu::noinline]] void access_lanes(const Op& op, Wave& wave, AccessKind kind, const Access& access) {
  const uint32_t bytes = op.semantics->bytes;
  const bool writes = kind != AccessKind::Load;
  // Loads and stores may be misaligned: the driver runs the device with unaligned access enabled (amdkfd:
  // SH_MEM_ALIGNMENT_MODE_UNALIGNED in SH_MEM_CONFIG). Atomics must be aligned.
  const uint64_t misaligned = kind == AccessKind::Atomic ? bytes - 1 : 0;
  Addresses addresses;
  list_addresses(op, wave, base_of(op, kind), addresses);
  Spaces spaces = split_by_space(op, wave.exec(), addresses);
  const bool global_only = spaces.global && (spaces.lds | spaces.scratch) == 0;
  if (kind != AccessKind::Atomic && global_only && access_known(op, wave, writes, spaces.global, addresses, access)) {
    return wave.observer->vector_access(wave, op, access_to(Space::Global, kind, bytes, spaces.global, addresses.lane));
  }
  for (uint64_t remaining = spaces.global; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    if (addresses.lane[l] & misaligned) return wave.raise(kMisaligned, addresses.lane[l], FaultKind::ApertureViolation, l);
    if (!wave.may_access(op, addresses.lane[l], bytes, writes, l)) return;
    access(l, wave.memory->at<uint8_t>(addresses.lane[l]));
  }
  for (uint64_t remaining = spaces.lds; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    if (!in_lds(wave, addresses.lane[l], bytes)) [[unlikely]] {
      if (!may_leave_lds(wave, addresses.lane[l], l)) return;
      access_edge_of_lds(wave, kind, addresses.lane[l], bytes, l, access);
      spaces.lds &= ~(uint64_t{1} << l);
      continue;
    }
    if (addresses.lane[l] & misaligned) return wave.raise(kMisaligned, addresses.lane[l], FaultKind::ApertureViolation, l);
    access(l, wave.lds + addresses.lane[l]);
  }
  for (uint64_t remaining = spaces.scratch; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    if (addresses.lane[l] + bytes > wave.scratch_bytes) {
      return wave.raise("private memory (stack) access out of range", addresses.lane[l], FaultKind::ApertureViolation, l);
    }
    access(l, wave.scratch + static_cast<uint64_t>(l) * wave.scratch_bytes + addresses.lane[l]);
  }
  if (spaces.global)
    wave.observer->vector_access(wave, op, access_to(Space::Global, kind, bytes, spaces.global, addresses.lane));
  if (spaces.lds) wave.observer->vector_access(wave, op, {kind, Space::Lds, bytes, spaces.lds, addresses.lane});
  if (spaces.scratch) wave.observer->vector_access(wave, op, {kind, Space::Scratch, bytes, spaces.scratch, addresses.lane});
}

// The same, but faster if the lanes' addresses have a pattern.
template <class Access>
void for_each_lane(const Op& op, Wave& wave, AccessKind kind, const Access& access) {
  if (kind != AccessKind::Atomic && access_pattern(op, wave, kind, access)) return;
  access_lanes(op, wave, kind, access);
}

// ---- loads ----

template <int Dwords>
void load_dwords(const Op& op, Wave& wave) {
  for_each_lane(op, wave, AccessKind::Load, LoadDwords<Dwords>{wave.registers(op.destination)});
}

template <class T, Half16 Where>
void load_narrow(const Op& op, Wave& wave) {
  uint32_t* reg = wave.registers(op.destination);
  for_each_lane(op, wave, AccessKind::Load, [&op, reg](int l, const uint8_t* source) {
    T value;
    std::memcpy(&value, source, sizeof value);
    reg[l] = loaded_narrow<Where>(op, reg[l], static_cast<uint32_t>(static_cast<int32_t>(value)));
  });
}

// Loads directly into the LDS, bypassing the registers.
template <class T>
void load_to_lds(const Op& op, Wave& wave) {
  LdsTransfer to_lds(op, wave);
  for_each_lane(op, wave, AccessKind::Load, [&to_lds](int l, const uint8_t* source) {
    T value;
    std::memcpy(&value, source, sizeof value);
    to_lds.store(l, static_cast<uint32_t>(static_cast<int32_t>(value)));
  });
  to_lds.finish();
}

template <int Dwords>
void load_dwords_to_lds(const Op& op, Wave& wave) {
  LdsTransfer to_lds(op, wave, 4 * Dwords);
  for_each_lane(op, wave, AccessKind::Load, [&to_lds](int l, const uint8_t* source) { to_lds.store(l, source); });
  to_lds.finish();
}

// ---- stores ----

template <int Dwords>
void store_dwords(const Op& op, Wave& wave) {
  for_each_lane(op, wave, AccessKind::Store, StoreDwords<Dwords>{wave.registers(op.source[1])});
}

template <class T, int Shift>
void store_narrow(const Op& op, Wave& wave) {
  const uint32_t* reg = wave.registers(op.source[1]);
  for_each_lane(op, wave, AccessKind::Store, [reg](int l, uint8_t* destination) {
    const T value = static_cast<T>(reg[l] >> Shift);
    std::memcpy(destination, &value, sizeof value);
  });
}

// ---- atomics ----

template <class T, auto F>
void update(const Op& op, Wave& wave) {
  const uint32_t* data = wave.registers(op.source[1]);
  uint32_t* result = op.returns ? wave.registers(op.destination) : nullptr;
  for_each_lane(op, wave, AccessKind::Atomic, [=](int l, uint8_t* pointer) {
    const T old = atomic_update<T, F>(reinterpret_cast<T*>(pointer), lane_value<T>(data, l));
    if (result) set_lane(result, l, old);
  });
}

// The data operand holds the new value, followed by the value to compare with.
template <class T>
void compare_swap(const Op& op, Wave& wave) {
  const uint32_t* data = wave.registers(op.source[1]);
  uint32_t* result = op.returns ? wave.registers(op.destination) : nullptr;
  for_each_lane(op, wave, AccessKind::Atomic, [=](int l, uint8_t* pointer) {
    const T value = lane_value<T>(data, l);
    const T compare = lane_value<T>(data + sizeof(T) / 4 * kLanes, l);
    const T old = atomic_compare_swap(reinterpret_cast<T*>(pointer), compare, value);
    if (result) set_lane(result, l, old);
  });
}

void fence(const Op& op, Wave& wave) { wave.observer->fence(wave, op); }

// ---- the table: every access exists as flat_, global_ and scratch_, except that atomics have no scratch_ form ----

constexpr Semantics access(const char* name, Execute execute, Unit unit, Space space, int bytes) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = unit,
          .destinations = static_cast<uint8_t>(unit == Unit::VectorLoad ? 1 : 0),
          .destination_type = Type::B32,
          .source_types = {Type::B64, Type::B64, Type::B64},
          .space = space,
          .bytes = static_cast<uint8_t>(bytes)};
}

constexpr Semantics updates(const char* name, Execute execute, Update kind, Space space, int bytes) {
  Semantics entry = access(name, execute, Unit::VectorAtomic, space, bytes);
  entry.update = kind;
  return entry;
}

constexpr Semantics fences(const char* name, CacheControl control) {
  return {.mnemonic = name,
          .execute = fence,
          .unit = Unit::CacheControl,
          .destinations = 0,
          .destination_type = Type::None,
          .cache_control = control};
}

constexpr Semantics without_destination(Semantics entry) {
  entry.destinations = 0;
  return entry;
}

#define LOAD(NAME, EXECUTE, BYTES)                                                  \
  access("flat_load_" NAME, EXECUTE, Unit::VectorLoad, Space::Flat, BYTES),         \
      access("global_load_" NAME, EXECUTE, Unit::VectorLoad, Space::Global, BYTES), \
      access("scratch_load_" NAME, EXECUTE, Unit::VectorLoad, Space::Scratch, BYTES)
#define LOAD_TO_LDS(NAME, T)                                                                                        \
  without_destination(access("global_load_lds_" NAME, load_to_lds<T>, Unit::VectorLoad, Space::Global, sizeof(T))), \
      without_destination(access("scratch_load_lds_" NAME, load_to_lds<T>, Unit::VectorLoad, Space::Scratch, sizeof(T)))
#define STORE(NAME, EXECUTE, BYTES)                                                   \
  access("flat_store_" NAME, EXECUTE, Unit::VectorStore, Space::Flat, BYTES),         \
      access("global_store_" NAME, EXECUTE, Unit::VectorStore, Space::Global, BYTES), \
      access("scratch_store_" NAME, EXECUTE, Unit::VectorStore, Space::Scratch, BYTES)
#define ATOMIC_ONE(NAME, KIND, EXECUTE, BYTES)                             \
  updates("flat_atomic_" NAME, EXECUTE, Update::KIND, Space::Flat, BYTES), \
      updates("global_atomic_" NAME, EXECUTE, Update::KIND, Space::Global, BYTES)

const Semantics kTable[] = {
    COMMON_LOADS,

    LOAD_TO_LDS("dword", uint32_t),
    LOAD_TO_LDS("ubyte", uint8_t),
    LOAD_TO_LDS("sbyte", int8_t),
    LOAD_TO_LDS("ushort", uint16_t),
    LOAD_TO_LDS("sshort", int16_t),
    without_destination(access("global_load_lds_dwordx3", load_dwords_to_lds<3>, Unit::VectorLoad, Space::Global, 12)),
    without_destination(access("global_load_lds_dwordx4", load_dwords_to_lds<4>, Unit::VectorLoad, Space::Global, 16)),

    COMMON_STORES,

    COMMON_ATOMICS,
    ATOMIC_ONE("pk_add_bf16", Float, (update<uint32_t, atomic::packed_bfloat_add>), 4),

    fences("buffer_wbl2", CacheControl::WriteBack),
    fences("buffer_inv", CacheControl::Invalidate),
    fences("buffer_invl2", CacheControl::InvalidateL2),
    fences("buffer_wbinvl1", CacheControl::Invalidate),  // gfx9's L1 is write-through
    fences("buffer_wbinvl1_vol", CacheControl::Invalidate),
    fences("buffer_gl0_inv", CacheControl::Invalidate),
    fences("buffer_gl1_inv", CacheControl::Invalidate),  // concerns the L1 that WGPs share, which is not modelled
};

}  // namespace

std::span<const Semantics> vector_memory_semantics() { return kTable; }

}  // namespace rpd
