// MFMA and SMFMAC: D = A * B + C over the whole wave, whatever exec says.
//
// Layout (AMD's matrix instruction calculator prints it for every instruction): for one or more blocks of M x M x K, each lane
// holds elements of one row of A and one column of B for consecutive values of k; the row (column) is lane % M. Groups of M
// lanes hold the blocks or, if there is only one block, the remaining values of k. In D, a lane holds column lane % M, with
// four consecutive rows in four consecutive registers.
//
// Products are summed in order of k, with one rounding per step. The hardware's internal order is not documented.
#include <algorithm>
#include <iterator>

#include "exec/fnuz_float.h"
#include "exec/half_precision_lanes.h"
#include "exec/lane_values.h"
#include "exec/ocp_float.h"
#include "exec/operands.h"

namespace rpd {
namespace {

struct BFloat {};
struct XFloat {};  // XF32: a single whose lower 13 bits are ignored (see widen_xfloat)

// Half or BFloat as gfx90a multiplies them: denormal inputs and results count as zero (AMD, "MI200 MFMA behavior specifics").
template <class Number>
struct Flushed {};
template <class In>
struct Traits {
  using Number = In;
  static constexpr bool kFlushes = false;
};
template <class In>
struct Traits<Flushed<In>> {
  using Number = In;
  static constexpr bool kFlushes = true;
};
template <class In>
using Number = typename Traits<In>::Number;

// `min_normal`: the smallest normal number of the format.
float flush(float value, float min_normal) { return std::abs(value) < min_normal ? std::copysign(0.0f, value) : value; }
constexpr float kMinNormalHalf = 0x1p-14f, kMinNormalFloat = 0x1p-126f;

// AMD's documents do not say whether inputs are rounded or truncated to ten bits of mantissa: here they are truncated.
float widen_xfloat(uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  return is_nan(value) ? quiet(value) : std::bit_cast<float>(bits & ~0x1fffu);
}

template <class In>
constexpr bool is_small_float =
    std::is_same_v<In, Fp8> || std::is_same_v<In, Bf8> || std::is_same_v<In, OcpFp8> || std::is_same_v<In, OcpBf8>;

template <class In>
constexpr int element_bits() {
  if constexpr (std::is_same_v<In, float> || std::is_same_v<In, XFloat>) return 32;
  return std::is_same_v<Number<In>, Half> || std::is_same_v<Number<In>, BFloat> ? 16 : 8;
}

template <class In>
auto element(const Wave& wave, const Operand& operand, int lane, int index) {
  constexpr int bits = element_bits<In>();
  constexpr int per_register = 32 / bits;
  const uint32_t word = wave.registers(operand)[index / per_register * kLanes + lane] >> (index % per_register * bits);
  if constexpr (std::is_same_v<In, float>) return std::bit_cast<float>(word);
  if constexpr (std::is_same_v<In, XFloat>) return widen_xfloat(word);
  if constexpr (std::is_same_v<In, Half>) return static_cast<float>(std::bit_cast<Half>(static_cast<uint16_t>(word)));
  if constexpr (std::is_same_v<In, BFloat>) return std::bit_cast<float>(word << 16);
  if constexpr (is_small_float<In>) return In::widen(static_cast<uint8_t>(word));
  if constexpr (std::is_same_v<In, int8_t>) return static_cast<int32_t>(static_cast<int8_t>(word));
  if constexpr (Traits<In>::kFlushes) {
    constexpr float min_normal = std::is_same_v<Number<In>, Half> ? kMinNormalHalf : kMinNormalFloat;
    return flush(element<Number<In>>(wave, operand, lane, index), min_normal);
  }
}

float multiply_add(float a, float b, float sum) { return std::fma(a, b, sum); }
// The same, but slower, with the target's NaNs instead of the host's.
float multiply_add_nan(float a, float b, float sum) { return settle_nan(std::fma(a, b, sum), a, b, sum); }
int32_t multiply_add(int32_t a, int32_t b, int32_t sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(a * b) + static_cast<uint32_t>(sum));
}

// The position of an element of D: its row and block, given its register and lane.
template <int M, int Blocks>
struct Element {
  int row, block;
  Element(int reg, int lane) {
    if constexpr (M == 4) {
      row = reg;
      block = lane / M;
    } else {
      constexpr int registers = M * M / kLanes;  // per block
      row = reg % registers / 4 * (4 * kLanes / M) + lane / M * 4 + reg % 4;
      block = reg / registers;
    }
  }
};

// CBSZ, ABID: in each group of 2^CBSZ blocks, all blocks use A from block ABID of the group.
int block_of_a(const MatrixControl& control, int block) {
  return (block & -(1 << control.broadcast_size)) | control.broadcast_block;
}

// BLGP: the lane from which a lane takes its elements of B.
int lane_of_b(const MatrixControl& control, int lane) {
  switch (control.lane_pattern) {
    case 0: return lane;
    case 1: return lane & 31;
    case 2: return lane | 32;
    case 3: return (lane + 16) & 63;
    default: return (lane & 15) | (control.lane_pattern - 4) << 4;
  }
}

// Widens element `index` of every lane.
template <class In, class Sum>
void widen_elements(const Wave& wave, const Operand& operand, int index, Sum (&out)[kLanes]) {
  if constexpr (std::is_same_v<In, Half>) {
    const uint32_t* words = wave.registers(operand) + index / 2 * kLanes;
    for (int l = 0; l < kLanes; l += kChunk) {
      const Chunk<float> singles = singles_of(load_words(words + l) >> (index % 2 * 16));
      std::memcpy(out + l, singles.lane, sizeof singles.lane);
    }
  } else {
    for (int l = 0; l < kLanes; ++l) out[l] = element<In>(wave, operand, l, index);
  }
}

// Rearranges the lanes' elements of A or B: [block][k][row or column]. `lane_of` returns the lane from which a lane takes its
// elements.
template <class In, int M, int K, int Blocks, class Sum, class LaneOf>
void spread(const Wave& wave, const Operand& operand, Sum (&out)[Blocks][K][M], LaneOf lane_of) {
  constexpr int per_lane = M * K * Blocks / kLanes;
  alignas(64) Sum elements[kLanes];
  for (int i = 0; i < per_lane; ++i) {
    widen_elements<In>(wave, operand, i, elements);
    for (int group = 0; group < kLanes / M; ++group) {
      Sum* to = Blocks > 1 ? out[group][i] : out[0][group * per_lane + i];
      for (int element = 0; element < M; ++element) to[element] = elements[lane_of(group * M + element)];
    }
  }
}

// Reads A, with CBSZ and ABID applied (spread_a), and B, with BLGP applied (spread_b).
template <class In, int M, int K, int Blocks, class Sum>
void spread_a(const Op& op, const Wave& wave, Sum (&a)[Blocks][K][M]) {
  if (Blocks == 1 || op.matrix.broadcast_size == 0) return spread<In, M>(wave, op.source[0], a, [](int lane) { return lane; });
  spread<In, M>(wave, op.source[0], a, [&](int lane) { return block_of_a(op.matrix, lane / M) * M + lane % M; });
}
template <class In, int M, int K, int Blocks, class Sum>
void spread_b(const Op& op, const Wave& wave, Sum (&b)[Blocks][K][M]) {
  if (op.matrix.lane_pattern == 0) return spread<In, M>(wave, op.source[1], b, [](int lane) { return lane; });
  spread<In, M>(wave, op.source[1], b, [&](int lane) { return lane_of_b(op.matrix, lane); });
}

// Initialises D from C, which may be a constant.
template <class Sum, int Registers>
void read_c(const Op& op, const Wave& wave, Sum (&d)[Registers * kLanes]) {
  if (is_vector(op.source[2])) return void(std::memcpy(d, wave.registers(op.source[2]), sizeof d));
  std::fill(std::begin(d), std::end(d), read_scalar<Sum>(op.source[2], wave));
}

template <class In, class Sum, size_t Size>
void flush_all([[maybe_unused]] Sum (&d)[Size]) {
  if constexpr (Traits<In>::kFlushes)
    for (Sum& each : d) each = flush(each, kMinNormalFloat);
}

// A row of D lies in consecutive lanes, so all its columns are computed at once, each in order of k.
template <int M, int K, int Blocks, class A, class B = A>
void multiply_matrices(const Op& op, Wave& wave) {
  using Sum = decltype(element<A>(wave, op.source[0], 0, 0));
  alignas(64) Sum a[Blocks][K][M];
  alignas(64) Sum b[Blocks][K][M];
  spread_a<A, M>(op, wave, a);
  spread_b<B, M>(op, wave, b);
  constexpr int registers = M * M * Blocks / kLanes;
  alignas(64) Sum d[registers * kLanes];
  const auto sum_products = [&](auto add) {
    read_c<Sum, registers>(op, wave, d);
    flush_all<A>(d);
    for (int first = 0; first < registers * kLanes; first += M) {
      const Element<M, Blocks> element(first / kLanes, first % kLanes);
      Sum* row = d + first;
      for (int k = 0; k < K; ++k) {
        const Sum factor = a[element.block][k][element.row];
        for (int column = 0; column < M; ++column) row[column] = add(factor, b[element.block][k][column], row[column]);
      }
    }
  };
  sum_products([](Sum x, Sum y, Sum sum) { return multiply_add(x, y, sum); });
  if constexpr (std::is_same_v<Sum, float>) {
    if (std::any_of(std::begin(d), std::end(d), is_nan<float>)) sum_products(multiply_add_nan);
  }
  flush_all<A>(d);
  std::memcpy(wave.registers(op.destination), d, sizeof d);
}

// ---- sparse: A holds two of every four elements along k; a lane's index register holds the two-bit position of each ----

// The register holds several sets of indices. ABID selects one of them if CBSZ is 0; otherwise the first one is used.
template <int Bits>
uint32_t indices_of(const Op& op, const Wave& wave, int lane) {
  const uint32_t set = op.matrix.broadcast_size & 3 ? 0 : op.matrix.broadcast_block % (32 / Bits);
  return wave.registers(op.source[2])[lane] >> (set * Bits);
}

template <int M, int K, class A, class B = A>
void multiply_sparse(const Op& op, Wave& wave) {
  using Sum = decltype(element<A>(wave, op.source[0], 0, 0));
  constexpr int elements_of_a = M * K / 2 / kLanes;  // elements of A in a lane; twice as many of B
  Sum a[M][K / 2];
  uint8_t k_of_a[M][K / 2];
  Sum b[K][M];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / M;
    const uint32_t indices = indices_of<2 * elements_of_a>(op, wave, lane);
    for (int i = 0; i < elements_of_a; ++i) {
      a[lane % M][group * elements_of_a + i] = element<A>(wave, op.source[0], lane, i);
      k_of_a[lane % M][group * elements_of_a + i] =
          static_cast<uint8_t>(2 * group * elements_of_a + i / 2 * 4 + (indices >> 2 * i & 3));
    }
    for (int i = 0; i < 2 * elements_of_a; ++i)
      b[2 * group * elements_of_a + i][lane % M] = element<B>(wave, op.source[1], lane, i);
  }
  constexpr int registers = M * M / kLanes;
  uint32_t* d = wave.registers(op.destination);
  for (int reg = 0; reg < registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = Element<M, 1>(reg, lane).row;
      Sum sum = std::bit_cast<Sum>(d[reg * kLanes + lane]);
      for (int i = 0; i < K / 2; ++i) {
        if constexpr (std::is_same_v<Sum, float>) sum = multiply_add_nan(a[row][i], b[k_of_a[row][i]][lane % M], sum);
        else sum = multiply_add(a[row][i], b[k_of_a[row][i]][lane % M], sum);
      }
      d[reg * kLanes + lane] = std::bit_cast<uint32_t>(sum);
    }
  }
}

// ---- double precision: a group of 16 lanes holds one value of k and, in each register pair of D, one row (of each block) ----

double read_double(const Wave& wave, const Operand& operand, int pair, int lane) {
  double value;
  if (is_vector(operand)) value = lane_value<double>(wave.registers(operand) + 2 * pair * kLanes, lane);
  else value = read_scalar<double>(operand, wave);
  return operand.negate ? -value : value;
}

// M = 16: one block. M = 4: four blocks; a lane belongs to block (lane / 4) % 4.
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
        const double a = read_double(wave, op.source[0], 0, 16 * k + in_block + row);
        const double b = read_double(wave, op.source[1], 0, 16 * k + lane % 16);
        sum = settle_nan(std::fma(a, b, sum), a, b, sum);
      }
      out[pair][lane] = sum;
    }
  }
  uint32_t* d = wave.registers(op.destination);
  for (int pair = 0; pair < pairs; ++pair) {
    for (int lane = 0; lane < kLanes; ++lane) {
      set_lane(d + 2 * pair * kLanes, lane, out[pair][lane]);
    }
  }
}

template <class In>
constexpr Precision precision_of() {
  if constexpr (Traits<In>::kFlushes) return precision_of<Number<In>>();
  else if constexpr (std::is_same_v<In, float>) return Precision::F32;
  else if constexpr (std::is_same_v<In, XFloat>) return Precision::XF32;
  else if constexpr (std::is_same_v<In, Half>) return Precision::F16;
  else if constexpr (std::is_same_v<In, BFloat>) return Precision::BF16;
  else if constexpr (std::is_same_v<In, double>) return Precision::F64;
  else if constexpr (std::is_same_v<In, int8_t>) return Precision::I8;
  else return Precision::F8;
}
template <class In>
constexpr Type kAccumulator = std::is_same_v<In, double>   ? Type::F64
                              : std::is_same_v<In, int8_t> ? Type::I32
                                                           : Type::F32;

template <class In>
constexpr Semantics matrix(const char* name, Execute execute, MatrixModifiers modifiers, const MatrixShape& shape) {
  constexpr Type accumulator = kAccumulator<In>;
  Semantics entry{name, execute, Unit::Matrix, 1, accumulator, {Type::B32, Type::B32, accumulator}};
  entry.matrix_modifiers = modifiers;
  entry.precision = precision_of<In>();
  entry.shape = shape;
  return entry;
}
template <int M, int K, class A, class B = A>
constexpr Semantics dense(const char* name, MatrixModifiers modifiers = MatrixModifiers::None) {
  return matrix<A>(name, multiply_matrices<M, K, 1, A, B>, modifiers, {M, M, K, 1});
}
template <int M, int K, int Blocks, class In>
constexpr Semantics blocks(const char* name) {
  return matrix<In>(name, multiply_matrices<M, K, Blocks, In>, MatrixModifiers::BroadcastAndPattern, {M, M, K, Blocks});
}
template <int M, int K, class A, class B = A>
constexpr Semantics sparse(const char* name) {
  Semantics entry = matrix<A>(name, multiply_sparse<M, K, A, B>, MatrixModifiers::Indices, {M, M, K, 1, true});
  entry.source_types[2] = Type::B32;
  return entry;
}
template <int M, int Blocks>
constexpr Semantics of_doubles(const char* name, MatrixModifiers modifiers = MatrixModifiers::Negation) {
  return matrix<double>(name, multiply_matrices_double<M>, modifiers, {M, M, 4, Blocks});
}
constexpr Semantics half_rate(Semantics entry) {
  entry.shape.half_rate = true;
  return entry;
}

constexpr Semantics doubled(Semantics entry) {
  entry.shape.doubled = true;
  return entry;
}

// gfx90a's instructions have different names, and all but those for doubles accept BLGP.
template <int M, int K, class In>
constexpr Semantics older(const char* name) {
  return dense<M, K, In>(name, MatrixModifiers::Pattern);
}
template <int M, int K, int Blocks, class In>
constexpr Semantics half_rate_blocks(const char* name) {
  return half_rate(blocks<M, K, Blocks, In>(name));
}

// The shapes for a 16-bit type.
#define SHAPES16(SUFFIX, IN)                                                                                        \
  dense<32, 8, IN>("v_mfma_f32_32x32x8_" SUFFIX), dense<16, 16, IN>("v_mfma_f32_16x16x16_" SUFFIX),                 \
      blocks<32, 4, 2, IN>("v_mfma_f32_32x32x4_2b_" SUFFIX), blocks<16, 4, 4, IN>("v_mfma_f32_16x16x4_4b_" SUFFIX), \
      blocks<4, 4, 16, IN>("v_mfma_f32_4x4x4_16b_" SUFFIX), sparse<16, 32, IN>("v_smfmac_f32_16x16x32_" SUFFIX),    \
      sparse<32, 16, IN>("v_smfmac_f32_32x32x16_" SUFFIX)
// The shapes that gfx950 adds.
#define DOUBLED_SHAPES16(SUFFIX, IN)                                                                                    \
  doubled(dense<32, 16, IN>("v_mfma_f32_32x32x16_" SUFFIX)), doubled(dense<16, 32, IN>("v_mfma_f32_16x16x32_" SUFFIX)), \
      doubled(sparse<16, 64, IN>("v_smfmac_f32_16x16x64_" SUFFIX)),                                                     \
      doubled(sparse<32, 32, IN>("v_smfmac_f32_32x32x32_" SUFFIX))
#define DOUBLED_SHAPES8(SUFFIX, A, B)                               \
  doubled(sparse<16, 128, A, B>("v_smfmac_f32_16x16x128_" SUFFIX)), \
      doubled(sparse<32, 64, A, B>("v_smfmac_f32_32x32x64_" SUFFIX))
#define SHAPES8(SUFFIX, A, B)                                                                             \
  dense<32, 16, A, B>("v_mfma_f32_32x32x16_" SUFFIX), dense<16, 32, A, B>("v_mfma_f32_16x16x32_" SUFFIX), \
      sparse<16, 64, A, B>("v_smfmac_f32_16x16x64_" SUFFIX), sparse<32, 32, A, B>("v_smfmac_f32_32x32x32_" SUFFIX)

const Semantics kTable[] = {
    dense<32, 2, float>("v_mfma_f32_32x32x2_f32", MatrixModifiers::Pattern),
    dense<16, 4, float>("v_mfma_f32_16x16x4_f32", MatrixModifiers::Pattern),
    blocks<32, 1, 2, float>("v_mfma_f32_32x32x1_2b_f32"),
    blocks<16, 1, 4, float>("v_mfma_f32_16x16x1_4b_f32"),
    blocks<4, 1, 16, float>("v_mfma_f32_4x4x1_16b_f32"),
    dense<16, 8, XFloat>("v_mfma_f32_16x16x8_xf32"),
    dense<32, 4, XFloat>("v_mfma_f32_32x32x4_xf32"),
    SHAPES16("f16", Half),
    SHAPES16("bf16", BFloat),
    SHAPES8("fp8_fp8", Fp8, Fp8),
    SHAPES8("fp8_bf8", Fp8, Bf8),
    SHAPES8("bf8_fp8", Bf8, Fp8),
    SHAPES8("bf8_bf8", Bf8, Bf8),
    dense<32, 16, int8_t>("v_mfma_i32_32x32x16_i8"),
    dense<16, 32, int8_t>("v_mfma_i32_16x16x32_i8"),
    blocks<32, 4, 2, int8_t>("v_mfma_i32_32x32x4_2b_i8"),
    blocks<16, 4, 4, int8_t>("v_mfma_i32_16x16x4_4b_i8"),
    blocks<4, 4, 16, int8_t>("v_mfma_i32_4x4x4_16b_i8"),
    sparse<16, 64, int8_t>("v_smfmac_i32_16x16x64_i8"),
    sparse<32, 32, int8_t>("v_smfmac_i32_32x32x32_i8"),
    of_doubles<16, 1>("v_mfma_f64_16x16x4_f64"),
    of_doubles<4, 4>("v_mfma_f64_4x4x4_4b_f64"),

    DOUBLED_SHAPES16("f16", Half),
    DOUBLED_SHAPES16("bf16", BFloat),
    DOUBLED_SHAPES8("fp8_fp8", OcpFp8, OcpFp8),
    DOUBLED_SHAPES8("fp8_bf8", OcpFp8, OcpBf8),
    DOUBLED_SHAPES8("bf8_fp8", OcpBf8, OcpFp8),
    DOUBLED_SHAPES8("bf8_bf8", OcpBf8, OcpBf8),
    doubled(dense<32, 32, int8_t>("v_mfma_i32_32x32x32_i8")),
    doubled(dense<16, 64, int8_t>("v_mfma_i32_16x16x64_i8")),
    doubled(sparse<16, 128, int8_t>("v_smfmac_i32_16x16x128_i8")),
    doubled(sparse<32, 64, int8_t>("v_smfmac_i32_32x32x64_i8")),

    older<32, 2, float>("v_mfma_f32_32x32x2f32"),
    older<16, 4, float>("v_mfma_f32_16x16x4f32"),
    blocks<32, 1, 2, float>("v_mfma_f32_32x32x1f32"),
    blocks<16, 1, 4, float>("v_mfma_f32_16x16x1f32"),
    blocks<4, 1, 16, float>("v_mfma_f32_4x4x1f32"),
    older<32, 8, Flushed<Half>>("v_mfma_f32_32x32x8f16"),
    older<16, 16, Flushed<Half>>("v_mfma_f32_16x16x16f16"),
    blocks<32, 4, 2, Flushed<Half>>("v_mfma_f32_32x32x4f16"),
    blocks<16, 4, 4, Flushed<Half>>("v_mfma_f32_16x16x4f16"),
    blocks<4, 4, 16, Flushed<Half>>("v_mfma_f32_4x4x4f16"),
    older<32, 8, Flushed<BFloat>>("v_mfma_f32_32x32x8bf16_1k"),
    older<16, 16, Flushed<BFloat>>("v_mfma_f32_16x16x16bf16_1k"),
    blocks<32, 4, 2, Flushed<BFloat>>("v_mfma_f32_32x32x4bf16_1k"),
    blocks<16, 4, 4, Flushed<BFloat>>("v_mfma_f32_16x16x4bf16_1k"),
    blocks<4, 4, 16, Flushed<BFloat>>("v_mfma_f32_4x4x4bf16_1k"),
    half_rate(older<32, 4, Flushed<BFloat>>("v_mfma_f32_32x32x4bf16")),
    half_rate(older<16, 8, Flushed<BFloat>>("v_mfma_f32_16x16x8bf16")),
    half_rate_blocks<32, 2, 2, Flushed<BFloat>>("v_mfma_f32_32x32x2bf16"),
    half_rate_blocks<16, 2, 4, Flushed<BFloat>>("v_mfma_f32_16x16x2bf16"),
    half_rate_blocks<4, 2, 16, Flushed<BFloat>>("v_mfma_f32_4x4x2bf16"),
    older<32, 8, int8_t>("v_mfma_i32_32x32x8i8"),
    older<16, 16, int8_t>("v_mfma_i32_16x16x16i8"),
    blocks<32, 4, 2, int8_t>("v_mfma_i32_32x32x4i8"),
    blocks<16, 4, 4, int8_t>("v_mfma_i32_16x16x4i8"),
    blocks<4, 4, 16, int8_t>("v_mfma_i32_4x4x4i8"),
    of_doubles<16, 1>("v_mfma_f64_16x16x4f64", MatrixModifiers::None),
    of_doubles<4, 4>("v_mfma_f64_4x4x4f64", MatrixModifiers::None),
};

// For targets whose 8-bit floats are OCP floats.
const Semantics kOcpTable[] = {
    SHAPES8("fp8_fp8", OcpFp8, OcpFp8),
    SHAPES8("fp8_bf8", OcpFp8, OcpBf8),
    SHAPES8("bf8_fp8", OcpBf8, OcpFp8),
    SHAPES8("bf8_bf8", OcpBf8, OcpBf8),
};

}  // namespace

std::span<const Semantics> matrix_semantics() { return kTable; }
std::span<const Semantics> ocp_matrix_semantics() { return kOcpTable; }

}  // namespace rpd
