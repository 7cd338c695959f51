// MFMA: D = A * B + C over the whole wave, whatever exec says.
//
// Layout (CDNA3 ISA, "Matrix arithmetic"; checked against the matrix calculator's published tables): with
// L = lanes / (M * blocks) groups... each lane holds K/groups consecutive k of one row of A (column of B); D has
// four rows a register group.
#include "exec/operands.h"

namespace rpd {
namespace {

template <class In>
float element(const Wave& wave, const Operand& operand, int lane, int index) {
  if constexpr (std::is_same_v<In, float>) {
    return std::bit_cast<float>(wave.registers(operand)[index * kLanes + lane]);
  } else {
    const uint32_t word = wave.registers(operand)[index / 2 * kLanes + lane];
    const auto bits = static_cast<uint16_t>(word >> (index % 2 ? 16 : 0));
    if constexpr (std::is_same_v<In, Half>) return static_cast<float>(std::bit_cast<Half>(bits));
    else return std::bit_cast<float>(uint32_t{bits} << 16);  // bfloat16
  }
}

struct BFloat {};

// One block of M x M x K with single-precision accumulation; lanes are split into 64/M groups along k.
template <int M, int K, class In>
void multiply_matrices(const Op& op, Wave& wave) {
  constexpr int groups = kLanes / M;
  constexpr int per_lane = K / groups;
  float a[M][K];
  float b[K][M];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < per_lane; ++i) {
      const int k = lane / M * per_lane + i;
      a[lane % M][k] = element<In>(wave, op.source[0], lane, i);
      b[k][lane % M] = element<In>(wave, op.source[1], lane, i);
    }
  }
  constexpr int registers = M * M / kLanes;
  alignas(64) uint32_t out[registers * kLanes];
  const bool constant = !is_vector(op.source[2]);
  const float start = constant ? read_scalar<float>(op.source[2], wave) : 0;
  const uint32_t* c = constant ? nullptr : wave.registers(op.source[2]);
  for (int reg = 0; reg < registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = reg / 4 * (4 * groups) + lane / M * 4 + reg % 4;
      float sum = c ? std::bit_cast<float>(c[reg * kLanes + lane]) : start;
      for (int k = 0; k < K; ++k) sum = std::fma(a[row][k], b[k][lane % M], sum);
      out[reg * kLanes + lane] = std::bit_cast<uint32_t>(sum);
    }
  }
  std::memcpy(wave.registers(op.destination), out, sizeof out);
}

// D rows of f64 16x16x4: register i of lane l is row 4*i + l/16.
void multiply_matrices_double(const Op& op, Wave& wave) {
  const auto value = [&](const Operand& operand, int reg, int lane) {
    if (!is_vector(operand)) return read_scalar<double>(operand, wave);
    const uint32_t* base = wave.registers(operand) + 2 * reg * kLanes;
    return std::bit_cast<double>(base[lane] | static_cast<uint64_t>(base[kLanes + lane]) << 32);
  };
  double out[4][kLanes];
  for (int reg = 0; reg < 4; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = 4 * reg + lane / 16;
      double sum = value(op.source[2], reg, lane);
      for (int k = 0; k < 4; ++k) sum = std::fma(value(op.source[0], 0, 16 * k + row), value(op.source[1], 0, 16 * k + lane % 16), sum);
      out[reg][lane] = sum;
    }
  }
  uint32_t* d = wave.registers(op.destination);
  for (int reg = 0; reg < 4; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto bits = std::bit_cast<uint64_t>(out[reg][lane]);
      d[2 * reg * kLanes + lane] = static_cast<uint32_t>(bits);
      d[(2 * reg + 1) * kLanes + lane] = static_cast<uint32_t>(bits >> 32);
    }
  }
}

constexpr Semantics matrix(const char* name, Execute execute, Type accumulator) {
  return {name, execute, Unit::Matrix, 1, accumulator, {Type::B32, Type::B32, accumulator}};
}

const Semantics kTable[] = {
    matrix("v_mfma_f32_32x32x2_f32", multiply_matrices<32, 2, float>, Type::F32),
    matrix("v_mfma_f32_16x16x4_f32", multiply_matrices<16, 4, float>, Type::F32),
    matrix("v_mfma_f32_32x32x8_f16", multiply_matrices<32, 8, Half>, Type::F32),
    matrix("v_mfma_f32_16x16x16_f16", multiply_matrices<16, 16, Half>, Type::F32),
    matrix("v_mfma_f32_32x32x8_bf16", multiply_matrices<32, 8, BFloat>, Type::F32),
    matrix("v_mfma_f32_16x16x16_bf16", multiply_matrices<16, 16, BFloat>, Type::F32),
    matrix("v_mfma_f64_16x16x4_f64", multiply_matrices_double, Type::F64),
};

}  // namespace

std::span<const Semantics> matrix_semantics() { return kTable; }

}  // namespace rpd
