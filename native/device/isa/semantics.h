// The one table: mnemonic -> what the instruction does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/op.h"

namespace rpd {

// How an operand's bits are read; decides what an inline constant such as 1.0 means.
enum class Type : uint8_t { None, B16, F16, B32, I32, F32, B64, I64, F64, PackedF16, Lane };

// Who executes it: what the SQ counts it as, and which latency rules hold.
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

// What a matrix instruction takes: CBSZ and ABID (that a block of A is used for several, or which indices a sparse one
// has), BLGP (that lanes get other lanes' B), neg.
enum class MatrixModifiers : uint8_t { None, Pattern, BroadcastAndPattern, Indices, Negation };

// What arithmetic it is, as the counters of instructions tell it apart. Of integers, recorded vecCopy kernels show what counts:
// v_add_u32, v_cmp_*_i32, v_ashrrev_i32 and the carry adds do, v_mov_b32 and v_lshlrev_b64 do not: the type suffix decides.
enum class Arithmetic : uint8_t { None, Add, Multiply, MultiplyAdd, Transcendental, Conversion, Integer32, Integer64 };

// Of arithmetic: what it computes with. 8-bit floats are all alike.
enum class Precision : uint8_t { None, I8, F8, F16, BF16, F32, XF32, F64 };

// How much arithmetic a matrix instruction is: M x N x K of a number of blocks; all 0 if it is none.
struct MatrixShape {
  int m = 0, n = 0, k = 0, blocks = 0;
  bool sparse = false;

  // Multiplications and additions of one execution: of a sparse one those that take place, half of all.
  constexpr double operations() const { return 2.0 * m * n * k * blocks / (sparse ? 2 : 1); }
};

// What an atomic does to memory: those of one kind commute. Subtracting is adding.
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

// Which caches an instruction is for, and what it does to vector caches. A write-back is half of a release, an invalidation
// half of an acquire.
enum class CacheControl : uint8_t { None, InvalidateScalar, OtherScalar, WriteBack, Invalidate, InvalidateL2 };

constexpr bool is_for_scalar_caches(CacheControl control) {
  return control == CacheControl::InvalidateScalar || control == CacheControl::OtherScalar;
}

// What a wave asks for that wants to stand still.
enum class Idle : uint8_t { None, WaitStates, Sleep };

struct Semantics {
  const char* mnemonic;
  Execute execute;
  Unit unit = Unit::Valu;
  uint8_t destinations = 1;            // 0, 1, or 2 (second one scalar)
  Type destination_type = Type::B32;
  std::array<Type, kMaxSources> source_types{};
  bool accumulates = false;            // the destination is also the last source
  bool packed = false;                 // op_sel/op_sel_hi pick halves of each source
  uint8_t default_packed_high = 7;     // op_sel_hi where the text names none
  bool keeps_upper_half = false;       // of a 16-bit result
  bool writes_byte = false;            // of the destination, which op_sel picks
  bool saturates = false;              // takes clamp although its result is an integer
  bool needs_immediate = false;        // simm16 is part of the meaning
  bool needs_format = false;           // a buffer element's format is part of the instruction
  Space space = Space::None;
  uint8_t bytes = 0;                   // a lane, of a memory access
  MatrixModifiers matrix_modifiers = MatrixModifiers::None;
  const char* (*refusal)(const Op&) = nullptr;  // why that one cannot run, or null
  // Instead of `execute` where MODE does not treat floating point as usual (float_mode.h); null where it makes no difference.
  Execute in_mode = nullptr;
  bool rounds_by_mode = true;  // else to nearest, as the transcendental unit does
  bool has_poles = false;  // an operand of 0 gives infinity

  Arithmetic arithmetic = Arithmetic::None;
  Precision precision = Precision::None;
  MatrixShape shape{};
  Update update = Update::None;  // of an atomic on global memory
  CacheControl cache_control = CacheControl::None;
  Idle idle = Idle::None;
  bool stores = false;  // to the LDS, or through the scalar cache: no load and no atomic
  bool leaves = false;  // never goes on with the instruction behind it
  bool reads_vcc = false;  // although its text does not say so
  bool offset_in_bits = false;  // the text has something else for the offset

  constexpr Semantics as(Arithmetic kind, Precision of) const {
    Semantics entry = *this;
    entry.arithmetic = kind;
    entry.precision = of;
    return entry;
  }
  // Of the precision of its result.
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

// Null if the device does not know the mnemonic.
const Semantics* find_semantics(std::string_view mnemonic);

// All entries, family by family.
std::span<const std::span<const Semantics>> semantics_families();

// What an Op does where an instruction stands that the device cannot execute (op.text ends with the reason), or where
// there is no memory to fetch one from.
void refuse_instruction(const Op& op, Wave& wave);
void refuse_fetch(const Op& op, Wave& wave);

// The families; each is one file below exec/semantics/.
std::span<const Semantics> scalar_alu_semantics();
std::span<const Semantics> control_semantics();
std::span<const Semantics> scalar_memory_semantics();
std::span<const Semantics> vector_integer_semantics();
std::span<const Semantics> vector_difference_semantics();
std::span<const Semantics> vector_float_semantics();
std::span<const Semantics> vector_cube_semantics();
std::span<const Semantics> vector_half_semantics();
std::span<const Semantics> vector_conversion_semantics();
std::span<const Semantics> vector_packed_semantics();
std::span<const Semantics> vector_compare_semantics();
std::span<const Semantics> vector_lane_semantics();
std::span<const Semantics> vector_memory_semantics();
std::span<const Semantics> vector_buffer_semantics();
std::span<const Semantics> vector_buffer_format_semantics();
std::span<const Semantics> lds_semantics();
std::span<const Semantics> matrix_semantics();

}  // namespace rpd
