// DS: reads, writes and atomics of the local data share. lds_crossbar.cpp has the cross-lane moves.
#include <algorithm>
#include <bit>

#include "exec/atomics.h"
#include "exec/float_mode.h"
#include "exec/instruction_events.h"
#include "exec/lane_extent.h"
#include "exec/lane_transfer.h"
#include "exec/lane_values.h"
#include "exec/lds_range_check.h"
#include "exec/operands.h"

namespace rpd {
namespace {

struct LdsAddresses {
  uint64_t lane[kLanes];  // byte offset in the LDS
  uint64_t inside;        // enabled lanes whose access lies entirely within the workgroup's LDS ...
  uint64_t outside;       // ... and those whose access lies partly or entirely outside it
};

// Sorts the enabled lanes into `inside` and `outside`. Raises a fault and returns false if any is outside and lds-check is on.
bool sort_by_range(Wave& wave, uint32_t bytes, LdsAddresses& out) {
  uint64_t outside = 0;
  for (int l = 0; l < kLanes; ++l) outside |= static_cast<uint64_t>(!in_lds(wave, out.lane[l], bytes)) << l;
  out.outside = outside & wave.exec();
  out.inside = wave.exec() & ~outside;
  if (out.outside == 0) return true;
  const int first = std::countr_zero(out.outside);
  return may_leave_lds(wave, out.lane[first], first);
}

// Takes the addresses from address_of(lane). Raises a fault and returns false if an enabled lane is out of range and lds-check
// is on.
template <class AddressOf>
bool find_addresses(Wave& wave, uint32_t bytes, LdsAddresses& out, AddressOf address_of) {
  uint64_t highest = 0;
  for (int l = 0; l < kLanes; ++l) {
    out.lane[l] = address_of(l);
    highest = std::max(highest, out.lane[l]);
  }
  if (!in_lds(wave, highest, bytes)) [[unlikely]]
    return sort_by_range(wave, bytes, out);
  out.outside = 0;
  out.inside = wave.exec();
  return true;
}

// The address register plus `offset`, modulo 2^32, because compilers fold offsets into negative bases.
bool addresses_of(const Op& op, Wave& wave, uint32_t offset, uint32_t bytes, LdsAddresses& out) {
  const uint32_t* address = wave.registers(op.source[0]);
  return find_addresses(wave, bytes, out, [=](int l) -> uint32_t { return address[l] + offset; });
}

// The base in M0 plus the instruction's offset.
uint32_t behind_m0(const Op& op, const Wave& wave) { return (wave.scalar[kM0] & 0xffff) + static_cast<uint32_t>(op.offset); }

// ADDTID: consecutive dwords, one for each lane.
bool addresses_of_lanes(const Op& op, Wave& wave, LdsAddresses& out) {
  const uint32_t first = behind_m0(op, wave);
  return find_addresses(wave, kLdsDword, out, [=](int l) { return first + kLdsDword * static_cast<uint32_t>(l); });
}

void observe(const Op& op, Wave& wave, AccessKind kind, uint32_t bytes, const LdsAddresses& addresses) {
  wave.observer->vector_access(wave, op, {kind, Space::Lds, bytes, addresses.inside, addresses.lane});
}

// For accesses in which all lanes take part and every lane stays within the LDS.
template <class Access>
void for_all(const Wave& wave, const LdsAddresses& addresses, uint32_t bytes, const Access& access) {
  if (are_consecutive(addresses.lane, bytes)) return access_all(access, wave.lds + addresses.lane[0], bytes);
  access_each(access, wave.lds, 0, addresses.lane, ~uint64_t{0});
}

template <int Dwords>
void read_from(const Op& op, Wave& wave, const LdsAddresses& addresses, uint32_t* reg) {
  const LoadDwords<Dwords> load{reg};
  if (addresses.inside == ~uint64_t{0}) {
    for_all(wave, addresses, 4 * Dwords, load);
    return observe(op, wave, AccessKind::Load, 4 * Dwords, addresses);
  }
  for (uint64_t remaining = addresses.inside; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    load(l, wave.lds + addresses.lane[l]);
  }
  for (uint64_t remaining = addresses.outside; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    uint8_t values[4 * Dwords];
    load_lds(wave, addresses.lane[l], sizeof values, values);
    load(l, values);
  }
  observe(op, wave, AccessKind::Load, 4 * Dwords, addresses);
}

// Performs an access that has a pattern and lies entirely within the LDS, and informs the observer. For any other access, does
// nothing and returns false.
template <class Access>
bool access_pattern(const Op& op, Wave& wave, AccessKind kind, uint32_t offset, uint32_t bytes, const Access& access) {
  const uint32_t* address = wave.registers(op.source[0]);
  const LanePattern pattern = pattern_of(address, wave.exec(), bytes);
  if (pattern == LanePattern::Any || wave.exec() == 0) return false;
  uint64_t rows[kRows];
  if (pattern == LanePattern::Rows)
    for (int r = 0; r < kRows; ++r) rows[r] = address[r * kRowLanes] + offset;
  const VectorAccess done{kind, Space::Lds, bytes, wave.exec(), rows, pattern, address[0] + offset, address[1] - address[0]};
  const AccessWindow range = extent(done);
  if (!in_lds(wave, range.begin, range.size)) return false;
  access_by_pattern(access, wave.lds, 0, done);
  wave.observer->vector_access(wave, op, done);
  return true;
}

template <int Dwords>
void read_at(const Op& op, Wave& wave, uint32_t offset, uint32_t* reg) {
  if (access_pattern(op, wave, AccessKind::Load, offset, 4 * Dwords, LoadDwords<Dwords>{reg})) return;
  LdsAddresses addresses;
  if (addresses_of(op, wave, offset, 4 * Dwords, addresses)) read_from<Dwords>(op, wave, addresses, reg);
}

template <int Dwords>
void write_to(const Op& op, Wave& wave, const LdsAddresses& addresses, const uint32_t* reg) {
  const StoreDwords<Dwords> store{reg};
  if (addresses.inside == ~uint64_t{0}) {
    for_all(wave, addresses, 4 * Dwords, store);
    return observe(op, wave, AccessKind::Store, 4 * Dwords, addresses);
  }
  for (uint64_t remaining = wave.exec(); remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    if (addresses.inside >> l & 1) [[likely]] {
      store(l, wave.lds + addresses.lane[l]);
      continue;
    }
    uint8_t values[4 * Dwords];
    store(l, values);
    store_lds(wave, addresses.lane[l], sizeof values, values);
  }
  observe(op, wave, AccessKind::Store, 4 * Dwords, addresses);
}

template <int Dwords>
void write_at(const Op& op, Wave& wave, uint32_t offset, const uint32_t* reg) {
  if (access_pattern(op, wave, AccessKind::Store, offset, 4 * Dwords, StoreDwords<Dwords>{reg})) return;
  LdsAddresses addresses;
  if (addresses_of(op, wave, offset, 4 * Dwords, addresses)) write_to<Dwords>(op, wave, addresses, reg);
}

template <int Dwords>
void read(const Op& op, Wave& wave) {
  read_at<Dwords>(op, wave, op.offset, wave.registers(op.destination));
}
template <int Dwords>
void write(const Op& op, Wave& wave) {
  write_at<Dwords>(op, wave, op.offset, wave.registers(op.source[1]));
}

void read_by_lane(const Op& op, Wave& wave) {
  LdsAddresses addresses;
  if (addresses_of_lanes(op, wave, addresses)) read_from<1>(op, wave, addresses, wave.registers(op.destination));
}
void write_by_lane(const Op& op, Wave& wave) {
  LdsAddresses addresses;
  if (addresses_of_lanes(op, wave, addresses)) write_to<1>(op, wave, addresses, wave.registers(op.source[0]));
}

// ---- gfx950's transposing reads, which turn columns into rows for matrix instructions ----

// Each lane reads 64 bits, that is, W elements. In a row of 16 lanes, 16 / W consecutive lanes read one row of a W x 16 matrix,
// and each lane gets one column of it: element n of lane l is element l % W of lane (16 / W) * n + l / W (according to Triton's
// layouts for these instructions; LLVM does not say).
template <int Bits>
void read_transposed(const Op& op, Wave& wave) {
  if (wave.exec() != ~uint64_t{0}) return wave.raise("a transposing read with disabled lanes is not modelled", op.address);
  alignas(64) uint32_t read[2 * kLanes];
  read_at<2>(op, wave, op.offset, read);
  if (wave.state == WaveState::Faulted) return;
  constexpr int width = 64 / Bits, lanes_of_row = 16 / width;
  uint32_t* reg = wave.registers(op.destination);
  for (int l = 0; l < kLanes; ++l) {
    uint64_t column = 0;
    for (int n = 0; n < width; ++n) {
      const int from = (l & ~15) + lanes_of_row * n + (l & 15) / width;
      const uint64_t row = lane_value<uint64_t>(read, from);
      column |= (row >> (l & 15) % width * Bits & ((uint64_t{1} << Bits) - 1)) << n * Bits;
    }
    set_lane(reg, l, column);
  }
}

// The paired forms, whose offsets are in elements (or in units of 64 elements).
template <int Dwords, int Stride>
void read_two(const Op& op, Wave& wave) {
  uint32_t* reg = wave.registers(op.destination);
  const uint32_t* address = wave.registers(op.source[0]);
  if (address < reg || address >= reg + Dwords * kLanes) {
    read_at<Dwords>(op, wave, op.offset * 4 * Dwords * Stride, reg);
    if (wave.state == WaveState::Faulted) return;
    return read_at<Dwords>(op, wave, op.offset1 * 4 * Dwords * Stride, reg + Dwords * kLanes);
  }
  // The first half of the destination holds the addresses: read both values before writing either.
  alignas(64) uint32_t first[Dwords * kLanes];
  std::memcpy(first, reg, sizeof first);
  read_at<Dwords>(op, wave, op.offset * 4 * Dwords * Stride, first);
  if (wave.state == WaveState::Faulted) return;
  alignas(64) uint32_t second[Dwords * kLanes];
  std::memcpy(second, reg + Dwords * kLanes, sizeof second);
  read_at<Dwords>(op, wave, op.offset1 * 4 * Dwords * Stride, second);
  std::memcpy(reg, first, sizeof first);
  std::memcpy(reg + Dwords * kLanes, second, sizeof second);
}
template <int Dwords, int Stride>
void write_two(const Op& op, Wave& wave) {
  write_at<Dwords>(op, wave, op.offset * 4 * Dwords * Stride, wave.registers(op.source[1]));
  if (wave.state == WaveState::Faulted) return;
  write_at<Dwords>(op, wave, op.offset1 * 4 * Dwords * Stride, wave.registers(op.source[2]));
}

template <class T, Half16 Where>
void read_narrow(const Op& op, Wave& wave) {
  LdsAddresses addresses;
  if (!addresses_of(op, wave, op.offset, sizeof(T), addresses)) return;
  uint32_t* reg = wave.registers(op.destination);
  for (uint64_t remaining = wave.exec(); remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    T value{};
    if (addresses.inside >> l & 1) std::memcpy(&value, wave.lds + addresses.lane[l], sizeof value);
    reg[l] = loaded_narrow<Where>(op, reg[l], static_cast<uint32_t>(static_cast<int32_t>(value)));
  }
  observe(op, wave, AccessKind::Load, sizeof(T), addresses);
}

template <class T, int Shift>
void write_narrow(const Op& op, Wave& wave) {
  LdsAddresses addresses;
  if (!addresses_of(op, wave, op.offset, sizeof(T), addresses)) return;
  const uint32_t* reg = wave.registers(op.source[1]);
  for (uint64_t remaining = addresses.inside; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    const T value = static_cast<T>(reg[l] >> Shift);
    std::memcpy(wave.lds + addresses.lane[l], &value, sizeof value);
  }
  observe(op, wave, AccessKind::Store, sizeof(T), addresses);
}

// ---- atomics: one lane after the other, since the LDS serialises them ----

// Reads and writes may be misaligned, as in global memory. For a misaligned atomic, raises a fault and returns false.
template <class T>
bool all_aligned(Wave& wave, const LdsAddresses& addresses) {
  for (uint64_t remaining = addresses.inside; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    if (addresses.lane[l] % sizeof(T) == 0) continue;
    wave.raise("misaligned atomic", addresses.lane[l], FaultKind::ApertureViolation, l);
    return false;
  }
  return true;
}

template <class T, class Update>
void for_each_update(const Op& op, Wave& wave, Update update) {
  LdsAddresses addresses;
  if (!addresses_of(op, wave, op.offset, sizeof(T), addresses)) return;
  if (op.semantics->destinations) {
    for (uint64_t remaining = addresses.outside; remaining; remaining &= remaining - 1) {
      set_lane(wave.registers(op.destination), std::countr_zero(remaining), T{});
    }
  }
  if (!all_aligned<T>(wave, addresses)) return;
  for (uint64_t remaining = addresses.inside; remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    T old;
    std::memcpy(&old, wave.lds + addresses.lane[l], sizeof old);
    const T next = update(old, l);
    std::memcpy(wave.lds + addresses.lane[l], &next, sizeof next);
    if (op.semantics->destinations) set_lane(wave.registers(op.destination), l, old);
  }
  observe(op, wave, AccessKind::Atomic, sizeof(T), addresses);
}

template <class T, auto F>
void update(const Op& op, Wave& wave) {
  const uint32_t* data = wave.registers(op.source[1]);
  for_each_update<T>(op, wave, [data](T old, int l) { return F(old, lane_value<T>(data, l)); });
}

// The LDS's own arithmetic flushes denormals if MODE says so, and always rounds to nearest.
template <class T>
T flushed(T value, bool keeps) {
  if (!keeps) flush_denormals(&value, 1);
  return value;
}
template <class T, auto F>
void update_in_mode(const Op& op, Wave& wave) {
  const FloatMode mode(wave.mode);
  const bool operands = mode.keeps_operand_denormals<T>(), results = mode.keeps_result_denormals<T>();
  const uint32_t* data = wave.registers(op.source[1]);
  for_each_update<T>(op, wave, [=](T old, int l) {
    return flushed(F(flushed(old, operands), flushed(lane_value<T>(data, l), operands)), results);
  });
}

template <class T, T (*F)(T, T, T)>
void update_by_two(const Op& op, Wave& wave) {
  const uint32_t* first = wave.registers(op.source[1]);
  const uint32_t* second = wave.registers(op.source[2]);
  for_each_update<T>(op, wave, [=](T old, int l) { return F(old, lane_value<T>(first, l), lane_value<T>(second, l)); });
}

// If T is a floating-point type, compares the values as numbers; denormals are not flushed, whatever MODE says.
template <class T>
T compare_store(T old, T compare, T value) {
  return old == compare ? value : old;
}
template <class T>
T masked_or(T old, T mask, T bits) {
  return (old & ~mask) | bits;
}
uint32_t wrap(uint32_t old, uint32_t limit, uint32_t step) { return old >= limit ? old - limit : old + step; }

// If the top bit of either half of the operand is set, that half replaces the same half of the old value, with the bit cleared.
uint64_t exchange_marked(uint64_t old, uint64_t value) {
  constexpr uint64_t marks = uint64_t{1} << 63 | uint64_t{1} << 31;
  const uint64_t replaced = ((value & marks) >> 31) * 0xffffffff;
  return (old & ~replaced) | (value & replaced & ~marks);
}

template <class T>
T loaded(const Wave& wave, const LdsAddresses& addresses, int lane) {
  T value{};
  if (addresses.inside >> lane & 1) std::memcpy(&value, wave.lds + addresses.lane[lane], sizeof value);
  return value;
}
template <class T>
void stored(const Wave& wave, const LdsAddresses& addresses, int lane, T value) {
  if (addresses.inside >> lane & 1) std::memcpy(wave.lds + addresses.lane[lane], &value, sizeof value);
}

// Both old values are read before either new one is stored.
template <class T, int Stride>
void exchange_two(const Op& op, Wave& wave) {
  constexpr int registers = sizeof(T) / 4;
  LdsAddresses first, second;
  if (!addresses_of(op, wave, op.offset * sizeof(T) * Stride, sizeof(T), first)) return;
  if (!addresses_of(op, wave, op.offset1 * sizeof(T) * Stride, sizeof(T), second)) return;
  if (!all_aligned<T>(wave, first) || !all_aligned<T>(wave, second)) return;
  uint32_t* result = wave.registers(op.destination);
  const uint32_t* first_value = wave.registers(op.source[1]);
  const uint32_t* second_value = wave.registers(op.source[2]);
  for (uint64_t remaining = wave.exec(); remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    const T old_first = loaded<T>(wave, first, l), old_second = loaded<T>(wave, second, l);
    stored(wave, first, l, lane_value<T>(first_value, l));
    stored(wave, second, l, lane_value<T>(second_value, l));
    set_lane(result, l, old_first);
    set_lane(result + registers * kLanes, l, old_second);
  }
  observe(op, wave, AccessKind::Atomic, sizeof(T), first);
  observe(op, wave, AccessKind::Atomic, sizeof(T), second);
}

// DS_APPEND adds the number of enabled lanes to a counter, and DS_CONSUME subtracts it. Both return the counter's old value to
// all of these lanes. The counter's address is in M0's lower half: LLVM (SelectDSAppendConsume) puts the pointer
// passed to __builtin_amdgcn_ds_append there.
template <int Sign>
void count_lanes(const Op& op, Wave& wave) {
  const uint64_t exec = wave.exec();
  if (exec == 0) return;
  const int lane = std::countr_zero(exec);
  LdsAddresses counter;
  const uint32_t address = behind_m0(op, wave);
  if (!find_addresses(wave, kLdsDword, counter, [=](int) { return address; })) return;
  counter.inside &= uint64_t{1} << lane;  // a single access, not one per lane
  counter.outside &= uint64_t{1} << lane;
  if (!all_aligned<uint32_t>(wave, counter)) return;
  const uint32_t old = loaded<uint32_t>(wave, counter, lane);
  stored(wave, counter, lane, old + Sign * static_cast<uint32_t>(std::popcount(exec)));
  uint32_t* result = wave.registers(op.destination);
  for (uint64_t remaining = exec; remaining; remaining &= remaining - 1) result[std::countr_zero(remaining)] = old;
  observe(op, wave, AccessKind::Atomic, kLdsDword, counter);
}

// ---- the table ----

void nothing(const Op&, Wave&) {}

constexpr Semantics lds(const char* name, Execute execute, int destinations, int bytes) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = Unit::Lds,
          .destinations = static_cast<uint8_t>(destinations),
          .source_types = {Type::B32, Type::B32, Type::B32},
          .space = Space::Lds,
          .bytes = static_cast<uint8_t>(bytes)};
}

constexpr Semantics lds_write(const char* name, Execute execute, int bytes) {
  Semantics entry = lds(name, execute, 0, bytes);
  entry.stores = true;
  return entry;
}

constexpr Semantics by_mode(Semantics entry, Execute in_mode) {
  entry.in_mode = in_mode;
  return entry;
}

#define ATOMIC(OPERATION, SUFFIX, T, FUNCTION)                                   \
  lds("ds_" OPERATION "_" SUFFIX, update<T, atomic::FUNCTION<T>>, 0, sizeof(T)), \
      lds("ds_" OPERATION "_rtn_" SUFFIX, update<T, atomic::FUNCTION<T>>, 1, sizeof(T))
#define FLOAT_ATOMIC(OPERATION, SUFFIX, T, FUNCTION)                                             \
  by_mode(lds("ds_" OPERATION "_" SUFFIX, update<T, atomic::FUNCTION<T>>, 0, sizeof(T)),         \
          update_in_mode<T, atomic::FUNCTION<T>>),                                               \
      by_mode(lds("ds_" OPERATION "_rtn_" SUFFIX, update<T, atomic::FUNCTION<T>>, 1, sizeof(T)), \
              update_in_mode<T, atomic::FUNCTION<T>>)
#define ATOMIC_BY_TWO(OPERATION, SUFFIX, T, FUNCTION)                           \
  lds("ds_" OPERATION "_" SUFFIX, update_by_two<T, FUNCTION<T>>, 0, sizeof(T)), \
      lds("ds_" OPERATION "_rtn_" SUFFIX, update_by_two<T, FUNCTION<T>>, 1, sizeof(T))
#define INTEGER_ATOMICS(OPERATION, U32, U64, FUNCTION) \
  ATOMIC(OPERATION, U32, uint32_t, FUNCTION), ATOMIC(OPERATION, U64, uint64_t, FUNCTION)

const Semantics kTable[] = {
    lds("ds_read_b32", read<1>, 1, 4),
    lds("ds_read_b64", read<2>, 1, 8),
    lds("ds_read_b96", read<3>, 1, 12),
    lds("ds_read_b128", read<4>, 1, 16),
    lds("ds_read_addtid_b32", read_by_lane, 1, 4),
    lds("ds_read_b64_tr_b16", read_transposed<16>, 1, 8),
    lds("ds_read_b64_tr_b8", read_transposed<8>, 1, 8),
    lds("ds_read_b64_tr_b4", read_transposed<4>, 1, 8),
    lds("ds_read2_b32", read_two<1, 1>, 1, 8),
    lds("ds_read2_b64", read_two<2, 1>, 1, 16),
    lds("ds_read2st64_b32", read_two<1, 64>, 1, 8),
    lds("ds_read2st64_b64", read_two<2, 64>, 1, 16),
    lds("ds_read_u8", read_narrow<uint8_t, Half16::Whole>, 1, 1),
    lds("ds_read_i8", read_narrow<int8_t, Half16::Whole>, 1, 1),
    lds("ds_read_u16", read_narrow<uint16_t, Half16::Whole>, 1, 2),
    lds("ds_read_i16", read_narrow<int16_t, Half16::Whole>, 1, 2),
    lds("ds_read_u8_d16", read_narrow<uint8_t, Half16::Low>, 1, 1),
    lds("ds_read_u8_d16_hi", read_narrow<uint8_t, Half16::High>, 1, 1),
    lds("ds_read_i8_d16", read_narrow<int8_t, Half16::Low>, 1, 1),
    lds("ds_read_i8_d16_hi", read_narrow<int8_t, Half16::High>, 1, 1),
    lds("ds_read_u16_d16", read_narrow<uint16_t, Half16::Low>, 1, 2),
    lds("ds_read_u16_d16_hi", read_narrow<uint16_t, Half16::High>, 1, 2),
    lds_write("ds_write_b32", write<1>, 4),
    lds_write("ds_write_b64", write<2>, 8),
    lds_write("ds_write_b96", write<3>, 12),
    lds_write("ds_write_b128", write<4>, 16),
    lds_write("ds_write_addtid_b32", write_by_lane, 4),
    lds_write("ds_write2_b32", write_two<1, 1>, 8),
    lds_write("ds_write2_b64", write_two<2, 1>, 16),
    lds_write("ds_write2st64_b32", write_two<1, 64>, 8),
    lds_write("ds_write2st64_b64", write_two<2, 64>, 16),
    lds_write("ds_write_b8", write_narrow<uint8_t, 0>, 1),
    lds_write("ds_write_b16", write_narrow<uint16_t, 0>, 2),
    lds_write("ds_write_b8_d16_hi", write_narrow<uint8_t, 16>, 1),
    lds_write("ds_write_b16_d16_hi", write_narrow<uint16_t, 16>, 2),

    INTEGER_ATOMICS("add", "u32", "u64", add),
    INTEGER_ATOMICS("sub", "u32", "u64", subtract),
    INTEGER_ATOMICS("rsub", "u32", "u64", reverse_subtract),
    INTEGER_ATOMICS("inc", "u32", "u64", increment),
    INTEGER_ATOMICS("dec", "u32", "u64", decrement),
    INTEGER_ATOMICS("min", "u32", "u64", smaller),
    INTEGER_ATOMICS("max", "u32", "u64", larger),
    INTEGER_ATOMICS("and", "b32", "b64", bit_and),
    INTEGER_ATOMICS("or", "b32", "b64", bit_or),
    INTEGER_ATOMICS("xor", "b32", "b64", bit_xor),
    ATOMIC("min", "i32", int32_t, smaller),
    ATOMIC("min", "i64", int64_t, smaller),
    ATOMIC("max", "i32", int32_t, larger),
    ATOMIC("max", "i64", int64_t, larger),
    FLOAT_ATOMIC("add", "f32", float, float_add),
    FLOAT_ATOMIC("add", "f64", double, float_add),
    FLOAT_ATOMIC("min", "f32", float, float_min),
    FLOAT_ATOMIC("max", "f32", float, float_max),
    FLOAT_ATOMIC("min", "f64", double, float_min),
    FLOAT_ATOMIC("max", "f64", double, float_max),
    lds("ds_pk_add_f16", update<uint32_t, atomic::packed_half_add>, 0, 4),
    lds("ds_pk_add_rtn_f16", update<uint32_t, atomic::packed_half_add>, 1, 4),
    lds("ds_pk_add_bf16", update<uint32_t, atomic::packed_bfloat_add>, 0, 4),
    lds("ds_pk_add_rtn_bf16", update<uint32_t, atomic::packed_bfloat_add>, 1, 4),
    lds("ds_wrxchg_rtn_b32", update<uint32_t, atomic::swap<uint32_t>>, 1, 4),
    lds("ds_wrxchg_rtn_b64", update<uint64_t, atomic::swap<uint64_t>>, 1, 8),
    lds("ds_wrxchg2_rtn_b32", exchange_two<uint32_t, 1>, 1, 8),
    lds("ds_wrxchg2_rtn_b64", exchange_two<uint64_t, 1>, 1, 16),
    lds("ds_wrxchg2st64_rtn_b32", exchange_two<uint32_t, 64>, 1, 8),
    lds("ds_wrxchg2st64_rtn_b64", exchange_two<uint64_t, 64>, 1, 16),
    ATOMIC_BY_TWO("cmpst", "b32", uint32_t, compare_store),
    ATOMIC_BY_TWO("cmpst", "b64", uint64_t, compare_store),
    ATOMIC_BY_TWO("cmpst", "f32", float, compare_store),
    ATOMIC_BY_TWO("cmpst", "f64", double, compare_store),
    ATOMIC_BY_TWO("mskor", "b32", uint32_t, masked_or),
    ATOMIC_BY_TWO("mskor", "b64", uint64_t, masked_or),
    lds("ds_wrap_rtn_b32", update_by_two<uint32_t, wrap>, 1, 4),
    lds("ds_condxchg32_rtn_b64", update<uint64_t, exchange_marked>, 1, 8),
    lds("ds_append", count_lanes<1>, 1, 4),
    lds("ds_consume", count_lanes<-1>, 1, 4),

    lds("ds_nop", nothing, 0, 0),
};

}  // namespace

std::span<const Semantics> lds_semantics() { return kTable; }

}  // namespace rpd
