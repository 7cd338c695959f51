// The table that maps mnemonics to what the instructions do.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/op.h"

namespace rpd {

// How an operand's bits are read. This decides what an inline constant such as 1.0 means.
enum class Type : uint8_t { None, B16, F16, B32, I32, F32, B64, I64, F64, PackedF16, Lane };

// The unit that executes an instruction. It decides how the SQ counts the instruction and which latency rules apply.
enum class Unit : uint8_t {
  Valu,
  Matrix,
  Salu,
  Smem,
  VectorLoad,
  VectorStore,
  VectorAtomic,
  Lds,
  Branch,
  Message,
  Barrier,
  Wait,
  Nop,
  CacheControl,
  End,
};

// Where a vector memory instruction's addresses point.
enum class Space : uint8_t { None, Flat, Global, Scratch, Buffer, Lds };

// The modifiers that a matrix instruction accepts: CBSZ and ABID (which broadcast a block of A to several blocks, or select the
// indices of a sparse instruction), BLGP (which lets lanes use the B of other lanes), and neg. With Formats, CBSZ and BLGP name
// the formats of A and B.
enum class MatrixModifiers : uint8_t { None, Pattern, BroadcastAndPattern, Indices, Negation, Formats };

// The kinds of arithmetic that the instruction counters distinguish. Recorded vecCopy kernels show what counts as integer
// arithmetic: v_add_u32, v_cmp_*_i32, v_ashrrev_i32 and the carry adds count, whereas v_mov_b32 and v_lshlrev_b64 do not. So
// the type suffix decides.
enum class Arithmetic : uint8_t { None, Add, Multiply, MultiplyAdd, Transcendental, Conversion, Integer32, Integer64 };

// The number type of arithmetic. All 8-bit float formats count as one. F6F4 is for matrix instructions that accept 8-, 6- and
// 4-bit floats.
enum class Precision : uint8_t { None, I8, F8, F6F4, F16, BF16, F32, XF32, F64 };

// The amount of arithmetic in a matrix instruction: M x N x K for each block; all 0 for other instructions.
struct MatrixShape {
  int m = 0, n = 0, k = 0, blocks = 0;
  bool sparse = false;
  bool half_rate = false;  // takes twice as long as the same operations in other instructions of the type
  bool doubled = false;    // takes half as long: the shapes that gfx950 adds, twice as deep as gfx942's

  // Multiplications and additions per execution. A sparse instruction performs only half of them, and only that half counts.
  constexpr double operations() const { return 2.0 * m * n * k * blocks / (sparse ? 2 : 1); }
};

// What an atomic does to memory. Atomics of the same kind commute, except Exchange and Float (and Increment and Decrement with
// different limits); subtraction counts as Add.
enum class Update : uint8_t {
  None,
  Add,
  SignedMinimum,
  UnsignedMinimum,
  SignedMaximum,
  UnsignedMaximum,
  And,
  Or,
  Xor,
  Increment,
  Decrement,
  Exchange,
  Float,
};

// Which caches an instruction acts on, and what it does to vector caches. A write-back is half of a release, and an
// invalidation is half of an acquire.
enum class CacheControl : uint8_t { None, InvalidateScalar, OtherScalar, WriteBack, Invalidate, InvalidateL2 };

constexpr bool is_for_scalar_caches(CacheControl control) {
  return control == CacheControl::InvalidateScalar || control == CacheControl::OtherScalar;
}

// How an instruction makes a wave idle.
enum class Idle : uint8_t { None, WaitStates, Sleep };

struct Semantics {
  const char* mnemonic;
  Execute execute;
  Unit unit = Unit::Valu;
  uint8_t destinations = 1;            // 0, 1, or 2 (the second one scalar)
  Type destination_type = Type::B32;
  std::array<Type, kMaxSources> source_types{};
  bool accumulates = false;            // the destination is also the last source
  bool packed = false;                 // op_sel/op_sel_hi pick halves of each source
  bool mixes_precisions = false;       // packed: op_sel_hi says which sources are halves
  uint8_t default_packed_high = 7;     // the value of op_sel_hi where the text has none
  bool keeps_upper_half = false;       // a 16-bit result leaves the upper half of the destination unchanged
  bool writes_byte = false;            // writes one byte of the destination, which op_sel picks
  bool saturates = false;              // accepts clamp although its result is an integer
  bool needs_immediate = false;        // uses simm16
  bool needs_truth_table = false;      // accepts the modifier bitop3
  bool converts_format = false;        // converts the format of a buffer's elements
  bool needs_format = false;           // a buffer element's format is part of the instruction
  Space space = Space::None;
  uint8_t bytes = 0;                   // bytes per lane in a memory access
  MatrixModifiers matrix_modifiers = MatrixModifiers::None;
  const char* (*refusal)(const Op&) = nullptr;  // returns why the Op cannot run, or null if it can
  // Replaces `execute` if MODE treats floating point in an unusual way (float_mode.h); null if MODE makes no difference.
  Execute in_mode = nullptr;
  // Replaces `execute`, with the same effect but faster, for an Op that has_plain_form(); null if there is no faster way.
  Execute plain = nullptr;
  bool rounds_by_mode = true;  // if false, rounds to nearest, as the transcendental unit does
  bool has_poles = false;  // an operand of 0 gives infinity

  Arithmetic arithmetic = Arithmetic::None;
  Precision precision = Precision::None;
  MatrixShape shape{};
  Update update = Update::None;  // what an atomic does to global memory
  CacheControl cache_control = CacheControl::None;
  Idle idle = Idle::None;
  bool stores = false;  // stores to the LDS or through the scalar cache; false for loads and atomics
  bool waits_for_stores = false;  // waits for stores and for nothing else
  bool writes_exec = false;       // writes EXEC in addition to its destination
  bool leaves = false;  // never continues with the instruction after it
  bool reads_vcc = false;  // reads VCC although the text does not name it
  bool global_sync = false;  // accepts the modifier gds; other waves get a turn
  bool offset_in_bits = false;  // the offset must be taken from the bits: the text shows something else

  constexpr Semantics as(Arithmetic kind, Precision of) const {
    Semantics entry = *this;
    entry.arithmetic = kind;
    entry.precision = of;
    return entry;
  }
  // The same, with the precision of the result.
  constexpr Semantics as(Arithmetic kind) const {
    switch (destination_type) {
      case Type::F16:
      case Type::PackedF16: return as(kind, Precision::F16);
      case Type::F32: return as(kind, Precision::F32);
      case Type::F64: return as(kind, Precision::F64);
      default: return as(kind, Precision::None);
    }
  }
};

// Whether `op` counts as a store in a wait for stores alone: it is a store, or an atomic that returns nothing, and the target
// counts these separately.
inline bool is_counted_as_store(const Op& op) {
  const bool is_store = op.semantics->unit == Unit::VectorStore || (op.semantics->unit == Unit::VectorAtomic && !op.returns);
  return is_store && target_of_device().rules.counts_stores_apart;
}

// Whether the instruction writes or updates memory that outlives the workgroup.
constexpr bool changes_memory(const Semantics& semantics) {
  return semantics.unit == Unit::VectorStore || semantics.unit == Unit::VectorAtomic ||
         (semantics.unit == Unit::Smem && semantics.stores);
}

// Returns null if the device does not know the mnemonic. Some mnemonics have a different meaning on targets whose 8-bit floats
// are OCP floats.
const Semantics* find_semantics(std::string_view mnemonic);

// All entries, grouped by family.
std::span<const std::span<const Semantics>> semantics_families();

// What an Op does if the device cannot execute the instruction at its address (op.text then ends with the reason) or if there
// is no memory to fetch an instruction from.
void refuse_instruction(const Op& op, Wave& wave);
void refuse_fetch(const Op& op, Wave& wave);

// The families, each in one file in exec/semantics/.
std::span<const Semantics> scalar_alu_semantics();
std::span<const Semantics> control_semantics();
std::span<const Semantics> scalar_memory_semantics();
std::span<const Semantics> vector_integer_semantics();
std::span<const Semantics> vector_absolute_difference_semantics();
std::span<const Semantics> vector_float_semantics();
std::span<const Semantics> vector_cube_semantics();
std::span<const Semantics> vector_half_semantics();
std::span<const Semantics> vector_conversion_semantics();
std::span<const Semantics> vector_packed_semantics();
std::span<const Semantics> vector_compare_semantics();
std::span<const Semantics> vector_lane_semantics();
std::span<const Semantics> vector_register_relative_semantics();
std::span<const Semantics> vector_memory_semantics();
std::span<const Semantics> vector_buffer_semantics();
std::span<const Semantics> vector_buffer_format_semantics();
std::span<const Semantics> lds_semantics();
std::span<const Semantics> lds_crossbar_semantics();
std::span<const Semantics> global_sync_semantics();
std::span<const Semantics> matrix_semantics();
std::span<const Semantics> vector_scaled_semantics();
std::span<const Semantics> matrix_formats_semantics();

// The families that replace some of these entries, and add others, on targets whose 8-bit floats are OCP floats.
std::span<const Semantics> ocp_conversion_semantics();
std::span<const Semantics> ocp_matrix_semantics();

}  // namespace rpd
