// A decoded instruction, with everything resolved that can be resolved before it runs.
#pragma once

#include <array>
#include <cstdint>

#include "isa/target.h"

namespace rpd {

struct Op;
struct Wave;
struct Semantics;

using Execute = void (*)(const Op&, Wave&);

constexpr int kMaxSources = 5;

// Scalar register numbers, as in the encoding.
enum ScalarRegister : uint16_t {
  kFlatScratch = 102,
  kXnackMask = 104,
  kVcc = 106,
  kTtmp0 = 108,
  kM0 = 124,
  kExec = 126,
  kScalarRegisters = 128,
  kNull = kScalarRegisters,  // whatever is written there is never read
  kScalarWords = kNull + 2,
};

// The part of a register that a sub-dword (SDWA) selector picks.
enum class Select : uint8_t { Dword, Byte0, Byte1, Byte2, Byte3, Word0, Word1 };

struct Operand {
  enum class Kind : uint8_t { None, Vector, Accumulator, Scalar, Constant, Scc, Vccz, Execz };
  Kind kind = Kind::None;
  uint8_t dwords = 1;       // as written: 4 for v[0:3]
  uint16_t reg = 0;
  bool negate = false;      // of a float, or of both halves of a packed one
  bool absolute = false;
  bool sign_extend = false;
  bool dpp = false;         // lanes are permuted by the op's DPP control
  bool high_half = false;   // op_sel: a 16-bit operand is in bits 31:16
  Select select = Select::Dword;
  uint64_t constant = 0;    // its bits, as wide as the operand's type

  bool modified() const { return negate || absolute || sign_extend || dpp || select != Select::Dword; }
};

// DPP control: which lane each lane reads from. A disabled lane counts as out of bounds unless `fetches_inactive` is set.
struct LanePermutation {
  std::array<int32_t, kLanes> source{};  // number of the lane; arbitrary where it is out of bounds
  uint64_t in_bounds = 0;
  uint64_t row_and_bank_mask = ~0ull;
  bool zero_out_of_bounds = false;      // bound_ctrl: lanes out of bounds read 0, instead of not being written
  bool fetches_inactive = false;        // fi: disabled lanes are read

  // The lanes that read an enabled lane; with `fetches_inactive`, all lanes that are in bounds.
  uint64_t reading(uint64_t exec) const {
    if (exec == ~0ull || fetches_inactive) return in_bounds;
    uint64_t mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= (exec >> source[l] & 1) << l;
    return mask & in_bounds;
  }
  uint64_t written(uint64_t exec) const { return zero_out_of_bounds ? row_and_bank_mask : reading(exec) & row_and_bank_mask; }
};

// CBSZ, ABID and BLGP of a matrix instruction; exec/semantics/matrix.cpp explains their meaning.
struct MatrixControl {
  uint8_t broadcast_size = 0, broadcast_block = 0, lane_pattern = 0;
};
// mul:2, mul:4, div:2
enum class OutputModifier : uint8_t { None, Twice, FourTimes, Half };

enum class DestinationUnused : uint8_t { Pad, SignExtend, Preserve };

// How many accesses to vector memory (`vector`), and to scalar memory and the LDS (`scalar`), may still be outstanding when a
// wave proceeds. The largest value of a counter means no wait.
struct WaitCounts {
  static constexpr uint8_t kNoVectorWait = 0x3f, kNoScalarWait = 0xf;
  uint8_t vector = kNoVectorWait, scalar = kNoScalarWait;
  uint8_t stores = kNoVectorWait;  // where the target counts them separately
};

// A run of instructions for which only_computes() is true; each follows the previous one in the Program.
struct StraightRun {
  uint16_t length = 0;
  uint16_t vector_registers = 0, accumulators = 0;  // the largest number that one of them needs
};

struct Op {
  Execute execute = nullptr;
  const Op* next = nullptr;    // the next instruction, once decoded
  const Op* target = nullptr;  // the target of a direct branch
  uint64_t address = 0;        // device address
  const Semantics* semantics = nullptr;
  const char* text = nullptr;
  const LanePermutation* permutation = nullptr;  // DPP

  Operand destination;         // first destination
  Operand scalar_destination;  // second destination: carry-out, div_scale's flag
  std::array<Operand, kMaxSources> source;

  uint32_t index = 0;          // in its Program; other code keeps tables about Ops by this index
  int32_t offset = 0;          // offset of a memory access; offset0 of a paired access
  int32_t offset1 = 0;
  uint32_t immediate = 0;      // simm16 of SOPP/SOPK, or a 32-bit literal of s_setreg_imm32
  uint16_t vector_registers = 0;  // number of registers that the wave must have: the highest one named, plus one
  uint16_t accumulators = 0;
  uint16_t size = 4;           // bytes of code
  uint8_t packed_low = 0;      // op_sel: which half feeds the low result, one bit per source
  uint8_t packed_high = 7;     // op_sel_hi
  uint8_t negate_low = 0;      // neg_lo
  uint8_t negate_high = 0;     // neg_hi
  bool clamp = false;
  bool keeps_half = false;     // a 16-bit result leaves the register's other half unchanged
  OutputModifier output_modifier = OutputModifier::None;
  bool returns = false;        // an atomic that returns the old value
  bool sc0 = false;            // scope of a memory access or cache operation: sc0 workgroup, sc1 agent, both system
  bool sc1 = false;
  bool nt = false;             // non-temporal: its lines are not expected to be used again
  bool indexed = false;        // buffer access: the vector address begins with an index (idxen) ...
  bool offset_in_register = false;  // ... and/or contains an offset (offen)
  bool to_lds = false;         // buffer load into the LDS
  bool destination_high = false;  // op_sel on the destination: bits 31:16
  Select destination_select = Select::Dword;
  DestinationUnused destination_unused = DestinationUnused::Pad;
  MatrixControl matrix;
  WaitCounts wait;             // s_waitcnt

  bool ends_slice = false;     // another wave may run after this instruction
  StraightRun run;             // the run that begins with this instruction
};

}  // namespace rpd
