// The architectural state of one wave.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "isa/op.h"
#include "memory/address_space.h"

namespace rpd {

struct WaveTiming;
struct GlobalWaveSync;
struct Workgroup;
class IssueLog;
class InstructionObserver;
class Program;
class MemoryGuard;

// Bits of the MODE register; the other floating-point bits are in float_mode.h.
constexpr uint32_t kModeDx10Clamp = 1u << 8;  // clamp turns NaN into 0
constexpr uint32_t kModeIeee = 1u << 9;       // minima and maxima quiet and return signalling NaNs
constexpr uint32_t kModeGprIndex = 1u << 27;  // register indexing mode is on

// Why a wave cannot continue. This determines how the program is notified.
enum class FaultKind : uint8_t {
  IllegalInstruction,
  MemoryFault,        // access to an unmapped address
  ForeignAccess,      // access to memory that is not the program's own (memory-check)
  ApertureViolation,  // access outside the LDS or private memory, or a misaligned atomic
  Trap,               // the program's own doing: __builtin_trap, abort or a failed assertion
  LimitReached,       // more instructions than the kernel may execute
};

enum class WaveState : uint8_t { Running, AtBarrier, AtGlobalBarrier, Ended, Faulted };

// Hardware registers that stay constant for the lifetime of a wave.
struct HardwareIds {
  uint32_t id = 0;         // HW_ID, or HW_ID1 ...
  uint32_t id2 = 0;        // ... and HW_ID2
  uint8_t simd = 0, slot = 0;  // where the wave is on its CU
  uint32_t xcc = 0;        // XCC_ID
  uint32_t registers = 0;  // GPR_ALLOC
  uint32_t lds = 0;        // LDS_ALLOC
};

struct Wave {
  const Op* pc = nullptr;           // the next instruction
  Program* program = nullptr;       // needed for calls to computed addresses
  uint32_t* vector = nullptr;       // [register][lane]
  uint32_t* accumulator = nullptr;  // [register][lane]
  alignas(64) uint32_t scalar[kScalarWords] = {};
  uint64_t lanes = ~uint64_t{0};    // the lanes that the wave has: all 64, or the lower 32
  bool scc = false;
  WaveState state = WaveState::Running;
  uint32_t mode = 0;                // the MODE register
  std::array<uint32_t, 2> flat_scratch{};  // FLAT_SCR_LO and _HI, where they are hardware registers
  uint32_t trap_status = 0;         // TRAPSTS: holds only what the kernel wrote; exceptions are not recorded
  uint32_t priority = 0;            // set by s_setprio
  HardwareIds hardware;
  uint32_t index_in_group = 0;

  Workgroup* group = nullptr;
  uint8_t* lds = nullptr;           // the workgroup's LDS
  uint32_t lds_bytes = 0;
  bool lds_check = false;           // an access beyond lds_bytes is a fault
  uint8_t* scratch = nullptr;       // [lane][scratch_bytes], private memory
  uint32_t scratch_bytes = 0;
  const AddressSpace* memory = nullptr;
  const MemoryGuard* guard = nullptr;  // null if all mapped memory may be accessed
  InstructionObserver* observer = nullptr;
  IssueLog* issued = nullptr;       // issued instructions not yet reported to the observer
  WaveTiming* timing = nullptr;     // the observer's own state
  // Ranges recently found to be accessible: [slot][writes], where several instructions share a slot. Most accesses of an
  // instruction stay within one allocation. Later waves of the dispatch that are placed in this object reuse the ranges.
  static constexpr uint32_t kWindowSlots = 4;
  std::array<std::array<AccessWindow, 2>, kWindowSlots> windows;
  GlobalWaveSync* sync = nullptr;  // the XCD's
  uint64_t generation = 0;  // the global barrier's generation when the wave arrived at it
  uint64_t executed = 0;  // instructions, counted at the end of each slice

  const char* fault = nullptr;  // why the wave is Faulted
  FaultKind fault_kind = FaultKind::IllegalInstruction;
  int fault_lane = -1;  // -1: the wave as a whole
  uint64_t fault_address = 0;

  uint64_t scalar64(unsigned reg) const {
    uint64_t value;
    std::memcpy(&value, &scalar[reg], sizeof value);
    return value;
  }
  void set_scalar64(unsigned reg, uint64_t value) { std::memcpy(&scalar[reg], &value, sizeof value); }

  // Masks have one bit per lane, in a pair of registers or, for 32 lanes, in a single register.
  bool has_32_lanes() const { return lanes >> 32 == 0; }
  int lane_count() const { return has_32_lanes() ? 32 : kLanes; }
  void set_mask(unsigned reg, uint64_t mask) {
    if (has_32_lanes()) [[unlikely]]
      scalar[reg] = static_cast<uint32_t>(mask);
    else set_scalar64(reg, mask);
  }
  uint64_t exec() const { return scalar64(kExec) & lanes; }
  void set_exec(uint64_t mask) { set_mask(kExec, mask); }
  uint64_t vcc() const { return scalar64(kVcc) & lanes; }

  uint32_t* registers(const Operand& operand) const {
    return (operand.kind == Operand::Kind::Accumulator ? accumulator : vector) + operand.reg * kLanes;
  }

  void raise(const char* why, uint64_t address, FaultKind kind = FaultKind::IllegalInstruction, int lane = -1) {
    if (state == WaveState::Faulted) return;
    state = WaveState::Faulted;
    fault = why;
    fault_kind = kind;
    fault_lane = lane;
    fault_address = address;
  }

  // Whether global memory may be accessed at the address; raises a fault if not.
  bool may_access(const Op& op, uint64_t address, uint32_t bytes, bool writes, int lane = -1) {
    AccessWindow& window = windows[op.index % kWindowSlots][writes];
    if (window.holds(address, bytes)) [[likely]]
      return true;
    return look_up(address, bytes, writes, lane, window);
  }
  // Whether a whole range of global memory may be accessed. Raises no fault, and returns false if in doubt.
  bool is_accessible(const Op& op, uint64_t address, uint64_t bytes, bool writes) {
    AccessWindow& window = windows[op.index % kWindowSlots][writes];
    return window.holds(address, bytes) || find(address, bytes, writes, window);
  }

 private:
  // Why an access causes a fault.
  struct Refusal {
    const char* why = nullptr;  // null if the access is allowed
    FaultKind kind = FaultKind::MemoryFault;
  };
  Refusal refusal(uint64_t address, uint32_t bytes, bool writes, AccessWindow& around) const;
  bool look_up(uint64_t address, uint32_t bytes, bool writes, int lane, AccessWindow& window);
  bool find(uint64_t address, uint64_t bytes, bool writes, AccessWindow& window) const;
};

}  // namespace rpd
