// SOPP and the scalar instructions that move the program counter, or read or write the wave's own state.
#include <bit>
#include <optional>

#include "exec/float_mode.h"
#include "exec/instruction_events.h"
#include "exec/operands.h"
#include "exec/register_indexing.h"
#include "exec/workgroup.h"
#include "isa/program.h"

namespace rpd {
namespace {

uint64_t after(const Op& op) { return op.address + op.size; }

template <bool (*Taken)(const Wave&)>
void branch_if(const Op& op, Wave& wave) {
  if (Taken(wave)) wave.pc = op.target;
}

void jump_to(const Op& op, Wave& wave, uint64_t address) {
  // Only computed jumps, mostly calls and returns, get here. Once the code is decoded, this is just a look-up.
  wave.pc = wave.program->jump(op.address, address);
}

void set_pc(const Op& op, Wave& wave) { jump_to(op, wave, read_scalar<uint64_t>(op.source[0], wave)); }
void swap_pc(const Op& op, Wave& wave) {
  const auto address = read_scalar<uint64_t>(op.source[0], wave);
  write_scalar(op.destination, wave, after(op));
  jump_to(op, wave, address);
}
void get_pc(const Op& op, Wave& wave) { write_scalar(op.destination, wave, after(op)); }
void call(const Op& op, Wave& wave) {
  write_scalar(op.destination, wave, after(op));
  wave.pc = op.target;
}

void end(const Op&, Wave& wave) { wave.state = WaveState::Ended; }
void barrier(const Op&, Wave& wave) { wave.state = WaveState::AtBarrier; }
void nothing(const Op&, Wave&) {}
void set_priority(const Op& op, Wave& wave) { wave.priority = op.immediate & 3; }

void wait_count(const Op& op, Wave& wave) { wave.observer->wait(wave, op.wait); }

// Without a debugger, ROCr's trap handler continues after trap 3 (__builtin_debugtrap) and reports all other traps
// [LLVM AMDGPUUsage, "Trap Handler ABI"].
void trap(const Op& op, Wave& wave) {
  constexpr uint32_t kDebugTrap = 3;
  if (op.immediate == kDebugTrap) return;
  const int lane = wave.exec() ? std::countr_zero(wave.exec()) : -1;
  wave.raise("the kernel ended itself (__builtin_trap, abort or a failed assertion)", op.address, FaultKind::Trap, lane);
}

enum HardwareRegister : unsigned {
  kMode = 1,
  kStatus = 2,
  kTrapStatus = 3,
  kHardwareId = 4,
  kRegisterAllocation = 5,
  kLdsAllocation = 6,
  kBufferStatus = 7,
  kMemoryBases = 15,
  kXccId = 20,
  // of gfx10
  kFlatScratchLow = 20,
  kFlatScratchHigh = 21,
  kHardwareId1 = 23,
  kHardwareId2 = 24,
  kShaderCycles = 29,
};

// SCC 0, USER_PRIO 4:3, TRAP_EN 6, EXECZ 9, VCCZ 10, IN_TG 11, VALID 16.
uint32_t status(const Wave& wave) {
  const bool in_group = wave.group && wave.group->waves.size() > 1;
  return wave.scc | wave.priority << 3 | 1u << 6 | uint32_t{wave.exec() == 0} << 9 | uint32_t{wave.vcc() == 0} << 10 |
         uint32_t{in_group} << 11 | 1u << 16;
}

// The value of hardware register `id`, or nothing if the device does not model it.
std::optional<uint32_t> register_of_gfx9(const Wave& wave, unsigned id) {
  switch (id) {
    case kHardwareId: return wave.hardware.id;
    case kRegisterAllocation: return wave.hardware.registers;
    case kLdsAllocation: return wave.hardware.lds;
    case kXccId: return target_of_device().has_xcc_id ? std::optional(wave.hardware.xcc) : std::nullopt;
    default: return std::nullopt;
  }
}
std::optional<uint32_t> register_of_gfx10(Wave& wave, unsigned id) {
  constexpr uint32_t cycles = 0xfffff;
  switch (id) {
    case kFlatScratchLow:
    case kFlatScratchHigh: return wave.flat_scratch[id - kFlatScratchLow];
    case kHardwareId1: return wave.hardware.id;
    case kHardwareId2: return wave.hardware.id2;
    case kShaderCycles: return wave.observer ? static_cast<uint32_t>(wave.observer->clock(wave)) & cycles : 0;
    default: return std::nullopt;
  }
}
std::optional<uint32_t> hardware_register(Wave& wave, unsigned id) {
  switch (id) {
    case kMode: return wave.mode;
    case kStatus: return status(wave);
    case kTrapStatus: return wave.trap_status;
    case kBufferStatus: return 0;  // in this model, instructions complete in order, so nothing is outstanding
    case kMemoryBases: return static_cast<uint32_t>(kPrivateAperture >> 48 | kSharedAperture >> 48 << 16);
    default: return target_of_device().rules.has_wave32 ? register_of_gfx10(wave, id) : register_of_gfx9(wave, id);
  }
}

struct Field {
  unsigned id, offset, width;
  uint32_t mask() const { return static_cast<uint32_t>(((uint64_t{1} << width) - 1) << offset); }
};
Field field_of(uint32_t simm) { return {simm & 0x3f, simm >> 6 & 0x1f, (simm >> 11 & 0x1f) + 1}; }

void get_register(const Op& op, Wave& wave) {
  const Field field = field_of(op.immediate);
  write_scalar(op.destination, wave, (hardware_register(wave, field.id).value_or(0) & field.mask()) >> field.offset);
}
const char* refuse_to_get(const Op& op) {
  Wave any;
  if (hardware_register(any, field_of(op.immediate).id)) return nullptr;
  return "s_getreg of a hardware register that the device does not model";
}

void set_bits(uint32_t& word, uint32_t mask, uint32_t bits) { word = (word & ~mask) | (bits & mask); }

// Kernels for gfx10 set FLAT_SCRATCH to the sum of an address and an offset supplied by the dispatcher; here both are 0.
bool is_flat_scratch(unsigned id) {
  return target_of_device().rules.has_wave32 && (id == kFlatScratchLow || id == kFlatScratchHigh);
}

uint32_t& writable_register(Wave& wave, unsigned id) {
  if (is_flat_scratch(id)) return wave.flat_scratch[id - kFlatScratchLow];
  return id == kMode ? wave.mode : wave.trap_status;
}
void set_field(const Op& op, Wave& wave, uint32_t value) {
  const Field field = field_of(op.immediate);
  set_bits(writable_register(wave, field.id), field.mask(), value << field.offset);
}
const char* refuse_to_set(const Op& op) {
  const unsigned id = field_of(op.immediate).id;
  if (id == kMode || id == kTrapStatus || is_flat_scratch(id)) return nullptr;
  return "s_setreg of a hardware register that the device does not model";
}
void set_register(const Op& op, Wave& wave) { set_field(op, wave, read_scalar<uint32_t>(op.destination, wave)); }
void set_register_literal(const Op& op, Wave& wave) { set_field(op, wave, static_cast<uint32_t>(op.destination.constant)); }

void set_rounding(const Op& op, Wave& wave) { set_bits(wave.mode, kModeRounding, op.immediate); }
void set_denormals(const Op& op, Wave& wave) { set_bits(wave.mode, kModeDenormals, op.immediate << 4); }

// Register indexing. The enable bits are an immediate: the raw second operand of s_set_gpr_idx_on, or SIMM16 of
// s_set_gpr_idx_mode.
void set_index(Wave& wave, const Operand& index) {
  set_bits(wave.scalar[kM0], kGprIndexMask, read_scalar<uint32_t>(index, wave));
}
void set_enables(Wave& wave, uint32_t enables) {
  set_bits(wave.scalar[kM0], 0xfu << kGprIndexEnables, enables << kGprIndexEnables);
}
void index_on(const Op& op, Wave& wave) {
  wave.mode |= kModeGprIndex;
  set_index(wave, op.source[0]);
  set_enables(wave, op.immediate >> 8);
}
void index_off(const Op&, Wave& wave) { wave.mode &= ~kModeGprIndex; }
void index_only(const Op& op, Wave& wave) { set_index(wave, op.source[0]); }
void index_enables(const Op& op, Wave& wave) { set_enables(wave, op.immediate); }

// S_MOVREL: M0 is added to the register number of the source or of the destination.
template <class T, bool OfDestination>
void move_relative(const Op& op, Wave& wave) {
  Operand moved = OfDestination ? op.destination : op.source[0];
  const uint64_t reg = uint64_t{moved.reg} + wave.scalar[kM0];
  if (reg + sizeof(T) / 4 > target_of_device().rules.sgprs)
    return wave.raise("a scalar register that does not exist, selected by the index in m0", op.address);
  moved.reg = static_cast<uint16_t>(reg);
  if constexpr (OfDestination) write_scalar(moved, wave, read_scalar<T>(op.source[0], wave));
  else write_scalar(op.destination, wave, read_scalar<T>(moved, wave));
}

constexpr Semantics branches(const char* name, Execute execute) {
  Semantics entry{name, execute, Unit::Branch, 0, Type::None};
  entry.needs_immediate = true;
  return entry;
}
constexpr Semantics internal(const char* name, Execute execute, Unit unit) {
  Semantics entry{name, execute, unit, 0, Type::None};
  entry.needs_immediate = true;
  return entry;
}
constexpr Semantics leaves(Semantics entry) {
  entry.leaves = true;
  return entry;
}
constexpr Semantics waits_for_stores(Semantics entry) {
  entry.waits_for_stores = true;
  return entry;
}
constexpr Semantics by_vcc(Semantics entry) {
  entry.reads_vcc = true;
  return entry;
}
constexpr Semantics idles(const char* name, Idle idle) {
  Semantics entry = internal(name, nothing, Unit::Nop);
  entry.idle = idle;
  return entry;
}
constexpr Semantics controls_cache(const char* name) {
  Semantics entry = internal(name, nothing, Unit::CacheControl);
  entry.cache_control = CacheControl::OtherScalar;
  return entry;
}
constexpr Semantics state(const char* name, Execute execute, const char* (*refusal)(const Op&)) {
  Semantics entry{name, execute, Unit::Salu, 1, Type::B32, {Type::B32}};
  entry.refusal = refusal;
  entry.needs_immediate = true;
  return entry;
}

const Semantics kTable[] = {
    leaves(branches("s_branch", branch_if<[](const Wave&) { return true; }>)),
    branches("s_cbranch_scc0", branch_if<[](const Wave& w) { return !w.scc; }>),
    branches("s_cbranch_scc1", branch_if<[](const Wave& w) { return w.scc; }>),
    by_vcc(branches("s_cbranch_vccz", branch_if<[](const Wave& w) { return w.vcc() == 0; }>)),
    by_vcc(branches("s_cbranch_vccnz", branch_if<[](const Wave& w) { return w.vcc() != 0; }>)),
    branches("s_cbranch_execz", branch_if<[](const Wave& w) { return w.exec() == 0; }>),
    branches("s_cbranch_execnz", branch_if<[](const Wave& w) { return w.exec() != 0; }>),
    leaves({"s_setpc_b64", set_pc, Unit::Branch, 0, Type::None, {Type::B64}}),
    {"s_swappc_b64", swap_pc, Unit::Branch, 1, Type::B64, {Type::B64}},
    {"s_getpc_b64", get_pc, Unit::Salu, 1, Type::B64},
    {.mnemonic = "s_call_b64", .execute = call, .unit = Unit::Branch, .destination_type = Type::B64, .needs_immediate = true},
    leaves(internal("s_endpgm", end, Unit::End)),
    internal("s_barrier", barrier, Unit::Barrier),
    internal("s_waitcnt", wait_count, Unit::Wait),
    waits_for_stores(internal("s_waitcnt_vscnt", wait_count, Unit::Wait)),
    internal("s_waitcnt_depctr", nothing, Unit::Nop),
    idles("s_nop", Idle::WaitStates),
    idles("s_sleep", Idle::Sleep),
    internal("s_wakeup", nothing, Unit::Nop),
    internal("s_setprio", set_priority, Unit::Nop),
    internal("s_sethalt", nothing, Unit::Nop),
    internal("s_sendmsg", nothing, Unit::Message),
    internal("s_trap", trap, Unit::Message),
    controls_cache("s_icache_inv"),
    internal("s_clause", nothing, Unit::Nop),
    internal("s_inst_prefetch", nothing, Unit::Nop),
    internal("s_round_mode", set_rounding, Unit::Nop),
    internal("s_denorm_mode", set_denormals, Unit::Nop),
    internal("s_ttracedata_imm", nothing, Unit::Nop),
    internal("s_incperflevel", nothing, Unit::Nop),
    internal("s_decperflevel", nothing, Unit::Nop),
    internal("s_ttracedata", nothing, Unit::Nop),
    {.mnemonic = "s_set_gpr_idx_on",
     .execute = index_on,
     .unit = Unit::Salu,
     .destinations = 0,
     .destination_type = Type::None,
     .source_types = {Type::B32},
     .needs_immediate = true},
    internal("s_set_gpr_idx_off", index_off, Unit::Salu),
    internal("s_set_gpr_idx_mode", index_enables, Unit::Salu),
    {"s_set_gpr_idx_idx", index_only, Unit::Salu, 0, Type::None, {Type::B32}},
    {"s_movrels_b32", move_relative<uint32_t, false>, Unit::Salu, 1, Type::B32, {Type::B32}},
    {"s_movrels_b64", move_relative<uint64_t, false>, Unit::Salu, 1, Type::B64, {Type::B64}},
    {"s_movreld_b32", move_relative<uint32_t, true>, Unit::Salu, 1, Type::B32, {Type::B32}},
    {"s_movreld_b64", move_relative<uint64_t, true>, Unit::Salu, 1, Type::B64, {Type::B64}},
    state("s_getreg_b32", get_register, refuse_to_get),
    state("s_setreg_b32", set_register, refuse_to_set),
    state("s_setreg_imm32_b32", set_register_literal, refuse_to_set),
};

}  // namespace

std::span<const Semantics> control_semantics() { return kTable; }

}  // namespace rpd
