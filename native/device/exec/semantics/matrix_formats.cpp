// gfx950's matrix products of 8-, 6- and 4-bit floats. CBSZ selects the format of A, and BLGP that of B. Some products have no
// scales; others have a scale (E8M0) for every 32 elements of a row of A or a column of B.
//
// Layout (according to AMD's Composable Kernel, whose tests run on the hardware; LLVM AMDGPUUsage does not describe it): a lane
// holds 32 elements of one row. 6-bit and 4-bit elements are consecutive. 8-bit elements form two runs of 16, with the second
// starting K / 2 after the first. Lane M * b + i holds the scale for elements 32 b to 32 b + 31 of row i. D has the layout
// described in matrix.cpp.
//
// The sum of a row's products and C is rounded once. The hardware's internal order and precision are not documented.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "exec/ocp_float.h"
#include "exec/operands.h"
#include "exec/packed_elements.h"

namespace rpd {
namespace {

constexpr int kPerLane = 32;  // elements
constexpr int kHalfOfBytes = 16;  // consecutive elements of 8 bits

struct Format {
  int bits;
  float (*widen)(uint32_t);
};
constexpr Format kFormats[] = {
    {8, OcpFp8::widen}, {8, OcpBf8::widen}, {6, OcpFp6::widen}, {6, OcpBf6::widen}, {4, OcpFp4::widen}};

template <int M, int K>
int place_in_row(int bits, int lane, int index) {
  const int group = lane / M;
  if (bits < 8) return kPerLane * group + index;
  return kHalfOfBytes * group + index % kHalfOfBytes + index / kHalfOfBytes * (K / 2);
}

double scale_of(uint32_t exponent) {
  return exponent == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(exponent) - 127);
}

// Unpacks the rows of A, or the columns of B: [k][row]. `scales` holds one scale for every 32 elements: [block][row].
template <int M, int K>
void spread(const Wave& wave, const Operand& operand, const Format& format, const double (&scales)[K / kPerLane][M],
            double (&out)[K][M]) {
  const uint32_t* registers = wave.registers(operand);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kPerLane; ++i) {
      const int k = place_in_row<M, K>(format.bits, lane, i);
      out[k][lane % M] = format.widen(packed_element(registers, lane, format.bits, i)) * scales[k / kPerLane][lane % M];
    }
  }
}

// The byte that holds the scale is selected by two bits, the lower one from OP_SEL and the upper one from OP_SEL_HI.
template <int M, int Blocks>
void read_scales(const Op& op, const Wave& wave, size_t source, double (&scales)[Blocks][M]) {
  const size_t which = source - 3;
  const int byte = (op.packed_low >> which & 1) + 2 * (op.packed_high >> which & 1);
  const Operand& operand = op.source[source];
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t word = is_vector(operand) ? wave.registers(operand)[lane] : read_scalar<uint32_t>(operand, wave);
    scales[lane / M][lane % M] = scale_of(word >> 8 * byte & 0xff);
  }
}

template <int M>
int row_of(int reg, int lane) {
  return reg / 4 * (4 * kLanes / M) + lane / M * 4 + reg % 4;
}

template <int M, int K, bool Scaled>
void multiply_formats(const Op& op, Wave& wave) {
  constexpr int blocks = K / kPerLane, registers = M * M / kLanes;
  double scales[2][blocks][M];
  if constexpr (Scaled) {
    read_scales<M>(op, wave, 3, scales[0]);
    read_scales<M>(op, wave, 4, scales[1]);
  } else {
    std::fill_n(&scales[0][0][0], 2 * blocks * M, 1.0);
  }
  alignas(64) double a[K][M], b[K][M];
  spread<M, K>(wave, op.source[0], kFormats[op.matrix.broadcast_size], scales[0], a);
  spread<M, K>(wave, op.source[1], kFormats[op.matrix.lane_pattern], scales[1], b);
  alignas(64) float d[registers * kLanes];
  if (is_vector(op.source[2])) std::memcpy(d, wave.registers(op.source[2]), sizeof d);
  else std::fill(std::begin(d), std::end(d), read_scalar<float>(op.source[2], wave));
  for (int first = 0; first < registers * kLanes; first += M) {
    const int row = row_of<M>(first / kLanes, first % kLanes);
    alignas(64) double sum[M] = {};
    for (int k = 0; k < K; ++k) {
      const double factor = a[k][row];
      for (int column = 0; column < M; ++column) sum[column] += factor * b[k][column];
    }
    for (int column = 0; column < M; ++column) {
      const auto result = static_cast<float>(sum[column] + static_cast<double>(d[first + column]));
      d[first + column] = settle_nan(result, d[first + column]);
    }
  }
  std::memcpy(wave.registers(op.destination), d, sizeof d);
}

const char* refuse_formats(const Op& op) {
  constexpr int count = std::size(kFormats);
  if (op.matrix.broadcast_size >= count || op.matrix.lane_pattern >= count) return "there is no such format";
  const auto fits = [](const Operand& operand, const Format& format) { return operand.dwords * 32 == kPerLane * format.bits; };
  if (fits(op.source[0], kFormats[op.matrix.broadcast_size]) && fits(op.source[1], kFormats[op.matrix.lane_pattern]))
    return nullptr;
  return "operands whose size does not match their format are not modelled";
}

template <int M, int K, bool Scaled>
constexpr Semantics of_formats(const char* name) {
  Semantics entry{name, multiply_formats<M, K, Scaled>, Unit::Matrix, 1, Type::F32, {Type::B32, Type::B32, Type::F32}};
  if constexpr (Scaled) {
    entry.source_types[3] = entry.source_types[4] = Type::B32;
    entry.packed = true;
  }
  entry.matrix_modifiers = MatrixModifiers::Formats;
  entry.refusal = refuse_formats;
  entry.precision = Precision::F6F4;
  entry.shape = {M, M, K, 1};
  entry.shape.doubled = true;
  return entry;
}

const Semantics kTable[] = {
    of_formats<16, 128, false>("v_mfma_f32_16x16x128_f8f6f4"),
    of_formats<32, 64, false>("v_mfma_f32_32x32x64_f8f6f4"),
    of_formats<16, 128, true>("v_mfma_scale_f32_16x16x128_f8f6f4"),
    of_formats<32, 64, true>("v_mfma_scale_f32_32x32x64_f8f6f4"),
};

}  // namespace

std::span<const Semantics> matrix_formats_semantics() { return kTable; }

}  // namespace rpd
