// MFMA: D = A * B + C over the whole wave, whatever exec says.
//
// Layout (AMD's matrix instruction calculator prints it for every instruction): of an M x M x K product of B blocks,
// each lane holds consecutive k of one row of A and one column of B, the row (column) being lane % M; groups of M
// lanes hold the blocks or, where there is one block, the rest of k. D has its column in lane % M; four consecutive
// rows are in four consecutive registers.
//
// Products are summed in the order of k, each step rounded once. What the hardware does inside is not documented.
#include "exec/operands.h"
#include "exec/small_float.h"

namespace rpd {
namespace {

struct BFloat {};

template <class In>
constexpr int element_bits() {
  if constexpr (std::is_same_v<In, float>) return 32;
  return std::is_same_v<In, Half> || std::is_same_v<In, BFloat> ? 16 : 8;
}

template <class In>
auto element(const Wave& wave, const Operand& operand, int lane, int index) {
  constexpr int bits = element_bits<In>();
  constexpr int per_register = 32 / bits;
  const uint32_t word = wave.registers(operand)[index / per_register * kLanes + lane] >> (index % per_register * bits);
  if constexpr (std::is_same_v<In, float>) return std::bit_cast<float>(word);
  if constexpr (std::is_same_v<In, Half>) return static_cast<float>(std::bit_cast<Half>(static_cast<uint16_t>(word)));
  if constexpr (std::is_same_v<In, BFloat>) return std::bit_cast<float>(word << 16);
  if constexpr (std::is_same_v<In, Fp8> || std::is_same_v<In, Bf8>) return In::widen(static_cast<uint8_t>(word));
  if constexpr (std::is_same_v<In, int8_t>) return static_cast<int32_t>(static_cast<int8_t>(word));
}

float multiply_add(float a, float b, float sum) { return std::fma(a, b, sum); }
int32_t multiply_add(int32_t a, int32_t b, int32_t sum) { return static_cast<int32_t>(static_cast<uint32_t>(a * b) + static_cast<uint32_t>(sum)); }

// Where an element of D is: its row and block, from its register and lane.
template <int M, int Blocks>
struct Place {
  int row, block;
  Place(int reg, int lane) {
    if constexpr (M == 4) {
      row = reg;
      block = lane / M;
    } else {
      constexpr int registers = M * M / kLanes;  // of a block
      row = reg % registers / 4 * (4 * kLanes / M) + lane / M * 4 + reg % 4;
      block = reg / registers;
    }
  }
};

template <int M, int K, int Blocks, class A, class B = A>
void multiply_matrices(const Op& op, Wave& wave) {
  using Sum = decltype(element<A>(wave, op.source[0], 0, 0));
  constexpr int per_lane = M * K * Blocks / kLanes;
  Sum a[Blocks][M][K];
  Sum b[Blocks][K][M];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / M;
    const int block = Blocks > 1 ? group : 0;
    for (int i = 0; i < per_lane; ++i) {
      const int k = Blocks > 1 ? i : group * per_lane + i;
      a[block][lane % M][k] = element<A>(wave, op.source[0], lane, i);
      b[block][k][lane % M] = element<B>(wave, op.source[1], lane, i);
    }
  }
  constexpr int registers = M * M * Blocks / kLanes;
  alignas(64) uint32_t out[registers * kLanes];
  const bool constant = !is_vector(op.source[2]);
  const uint32_t start = constant ? read_scalar<uint32_t>(op.source[2], wave) : 0;
  const uint32_t* c = constant ? nullptr : wave.registers(op.source[2]);
  for (int reg = 0; reg < registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const Place<M, Blocks> place(reg, lane);
      Sum sum = std::bit_cast<Sum>(c ? c[reg * kLanes + lane] : start);
      for (int k = 0; k < K; ++k) sum = multiply_add(a[place.block][place.row][k], b[place.block][k][lane % M], sum);
      out[reg * kLanes + lane] = std::bit_cast<uint32_t>(sum);
    }
  }
  std::memcpy(wave.registers(op.destination), out, sizeof out);
}

// ---- double precision: one k in each group of 16 lanes; a register pair of D is one row (of each block) in each ----

double read_double(const Wave& wave, const Operand& operand, int pair, int lane) {
  if (!is_vector(operand)) return read_scalar<double>(operand, wave);
  const uint32_t* base = wave.registers(operand) + 2 * pair * kLanes;
  return std::bit_cast<double>(base[lane] | static_cast<uint64_t>(base[kLanes + lane]) << 32);
}

// M = 16: one block. M = 4: four blocks, at (lane / 4) % 4.
template <int M>
void multiply_matrices_double(const Op& op, Wave& wave) {
  constexpr int pairs = M / 4;
  constexpr int K = 4;
  double out[pairs][kLanes];
  for (int pair = 0; pair < pairs; ++pair) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = 4 * pair + lane / 16;
      const int in_block = M == 4 ? lane % 16 / 4 * 4 : 0;
      double sum = read_double(wave, op.source[2], pair, lane);
      for (int k = 0; k < K; ++k) {
        sum = std::fma(read_double(wave, op.source[0], 0, 16 * k + in_block + row), read_double(wave, op.source[1], 0, 16 * k + lane % 16), sum);
      }
      out[pair][lane] = sum;
    }
  }
  uint32_t* d = wave.registers(op.destination);
  for (int pair = 0; pair < pairs; ++pair) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto bits = std::bit_cast<uint64_t>(out[pair][lane]);
      d[2 * pair * kLanes + lane] = static_cast<uint32_t>(bits);
      d[(2 * pair + 1) * kLanes + lane] = static_cast<uint32_t>(bits >> 32);
    }
  }
}

constexpr Semantics matrix(const char* name, Execute execute, Type accumulator) {
  return {name, execute, Unit::Matrix, 1, accumulator, {Type::B32, Type::B32, accumulator}};
}

// The shapes of a 16-bit type.
#define SHAPES16(SUFFIX, IN)                                                            \
  matrix("v_mfma_f32_32x32x8_" SUFFIX, multiply_matrices<32, 8, 1, IN>, Type::F32),      \
      matrix("v_mfma_f32_16x16x16_" SUFFIX, multiply_matrices<16, 16, 1, IN>, Type::F32), \
      matrix("v_mfma_f32_32x32x4_2b_" SUFFIX, multiply_matrices<32, 4, 2, IN>, Type::F32), \
      matrix("v_mfma_f32_16x16x4_4b_" SUFFIX, multiply_matrices<16, 4, 4, IN>, Type::F32), \
      matrix("v_mfma_f32_4x4x4_16b_" SUFFIX, multiply_matrices<4, 4, 16, IN>, Type::F32)
#define SHAPES8(SUFFIX, A, B)                                                              \
  matrix("v_mfma_f32_32x32x16_" SUFFIX, multiply_matrices<32, 16, 1, A, B>, Type::F32),     \
      matrix("v_mfma_f32_16x16x32_" SUFFIX, multiply_matrices<16, 32, 1, A, B>, Type::F32)

const Semantics kTable[] = {
    matrix("v_mfma_f32_32x32x2_f32", multiply_matrices<32, 2, 1, float>, Type::F32),
    matrix("v_mfma_f32_16x16x4_f32", multiply_matrices<16, 4, 1, float>, Type::F32),
    matrix("v_mfma_f32_32x32x1_2b_f32", multiply_matrices<32, 1, 2, float>, Type::F32),
    matrix("v_mfma_f32_16x16x1_4b_f32", multiply_matrices<16, 1, 4, float>, Type::F32),
    matrix("v_mfma_f32_4x4x1_16b_f32", multiply_matrices<4, 1, 16, float>, Type::F32),
    SHAPES16("f16", Half), SHAPES16("bf16", BFloat),
    SHAPES8("fp8_fp8", Fp8, Fp8), SHAPES8("fp8_bf8", Fp8, Bf8), SHAPES8("bf8_fp8", Bf8, Fp8), SHAPES8("bf8_bf8", Bf8, Bf8),
    matrix("v_mfma_i32_32x32x16_i8", multiply_matrices<32, 16, 1, int8_t>, Type::I32),
    matrix("v_mfma_i32_16x16x32_i8", multiply_matrices<16, 32, 1, int8_t>, Type::I32),
    matrix("v_mfma_i32_32x32x4_2b_i8", multiply_matrices<32, 4, 2, int8_t>, Type::I32),
    matrix("v_mfma_i32_16x16x4_4b_i8", multiply_matrices<16, 4, 4, int8_t>, Type::I32),
    matrix("v_mfma_i32_4x4x4_16b_i8", multiply_matrices<4, 4, 16, int8_t>, Type::I32),
    matrix("v_mfma_f64_16x16x4_f64", multiply_matrices_double<16>, Type::F64),
    matrix("v_mfma_f64_4x4x4_4b_f64", multiply_matrices_double<4>, Type::F64),
};

}  // namespace

std::span<const Semantics> matrix_semantics() { return kTable; }

}  // namespace rpd
