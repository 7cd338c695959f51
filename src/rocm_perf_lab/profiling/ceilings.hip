// Microbenchmarks of a GPU's units, one per run:
//   ceilings NAME REPEATS full|brief
// Every benchmark is a pair of launches of one kernel, a short and a long one. The long launch's additional work, divided by
// its additional time, is a rate that neither launch nor drain affects. The first pair is for warm-up. Prints the work, in
// bytes or operations, of the short and of the long launch. A brief run does less work, which is enough if times do not
// vary.
//
// Plain instructions are written in assembly, so that the compiler cannot pack, fuse or omit any: operations are counted just
// as rocm-perf's rooflines count them.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                      \
  do {                                                                   \
    const hipError_t error = (call);                                     \
    if (error != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(2);                                                      \
    }                                                                    \
  } while (0)

namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 8;  // number of loads before the first result is used
using Line = float __attribute__((ext_vector_type(4)));

__device__ void use(Line value) { asm volatile("" ::"v"(value)); }

}  // namespace

// Lane i of the grid reads elements i, i + stride, i + 2 stride ... of a region whose size is a power of two.
extern "C" __global__ __launch_bounds__(kThreads) void ceiling_read(const Line* from, size_t elements, int steps) {
  const size_t stride = static_cast<size_t>(gridDim.x) * kThreads;
  size_t at = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int step = 0; step < steps; step += kInFlight) {
    Line values[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i, at += stride) values[i] = from[at & (elements - 1)];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) use(values[i]);
  }
}

extern "C" __global__ __launch_bounds__(kThreads) void ceiling_lds(int steps) {
  __shared__ Line data[kThreads];
  data[threadIdx.x] = Line{1, 2, 3, 4};
  __syncthreads();
  const volatile Line* mine = data + threadIdx.x;
  for (int step = 0; step < steps; step += kInFlight) {
    Line values[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) values[i] = *mine;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) use(values[i]);
  }
}

// Eight independent chains, so that no multiply-add waits for the one before it.
#define MULTIPLY_ADDS(name, type, instruction)                                             \
  extern "C" __global__ __launch_bounds__(kThreads) void name(int steps) {                 \
    type x[8] = {}, a = {}, b = {};                                                        \
    for (int step = 0; step < steps; step += 8) {                                          \
      _Pragma("unroll") for (int i = 0; i < 8; ++i)                                        \
          asm volatile(instruction " %0, %1, %2, %0" : "+v"(x[i]) : "v"(a), "v"(b));       \
    }                                                                                      \
  }
using Half2 = _Float16 __attribute__((ext_vector_type(2)));
MULTIPLY_ADDS(ceiling_valu_f16, Half2, "v_pk_fma_f16")
MULTIPLY_ADDS(ceiling_valu_f32, float, "v_fma_f32")
MULTIPLY_ADDS(ceiling_valu_f64, double, "v_fma_f64")

// Four independent accumulators for a matrix instruction. Targets without that instruction get an empty kernel, which is never
// launched.
#define MATRIX_PRODUCTS(name, operand, accumulator, ...)                                   \
  extern "C" __global__ __launch_bounds__(kThreads) void name(int steps) {                 \
    operand a = {}, b = {};                                                                \
    accumulator c[4] = {};                                                                 \
    for (int step = 0; step < steps; step += 4) {                                          \
      _Pragma("unroll") for (int i = 0; i < 4; ++i) c[i] = __VA_ARGS__(a, b, c[i], 0, 0, 0); \
    }                                                                                      \
    for (int i = 0; i < 4; ++i) asm volatile("" ::"v"(c[i]));                              \
  }
#define NO_PRODUCTS(name) \
  extern "C" __global__ void name(int) {}

using F32x16 = float __attribute__((ext_vector_type(16)));
using F64x4 = double __attribute__((ext_vector_type(4)));
using I32x16 = int __attribute__((ext_vector_type(16)));
using Half4 = _Float16 __attribute__((ext_vector_type(4)));
using Short4 = short __attribute__((ext_vector_type(4)));
using F32x2 = float __attribute__((ext_vector_type(2)));

#if defined(__gfx950__)
// On gfx950, only the instructions with twice the depth (K) reach the peak. Products of 8-bit floats are unscaled.
using Half8 = _Float16 __attribute__((ext_vector_type(8)));
using BFloat8 = __bf16 __attribute__((ext_vector_type(8)));
using I32x4 = int __attribute__((ext_vector_type(4)));
using I32x8 = int __attribute__((ext_vector_type(8)));
#define UNSCALED(a, b, c, ...) __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, 0, 0, 0, 0, 0, 0)
MATRIX_PRODUCTS(ceiling_mfma_f16, Half8, F32x16, __builtin_amdgcn_mfma_f32_32x32x16_f16)
MATRIX_PRODUCTS(ceiling_mfma_bf16, BFloat8, F32x16, __builtin_amdgcn_mfma_f32_32x32x16_bf16)
MATRIX_PRODUCTS(ceiling_mfma_i8, I32x4, I32x16, __builtin_amdgcn_mfma_i32_32x32x32_i8)
MATRIX_PRODUCTS(ceiling_mfma_f8, I32x8, F32x16, UNSCALED)
MATRIX_PRODUCTS(ceiling_mfma_f32, float, F32x16, __builtin_amdgcn_mfma_f32_32x32x2f32)
MATRIX_PRODUCTS(ceiling_mfma_f64, double, F64x4, __builtin_amdgcn_mfma_f64_16x16x4f64)
NO_PRODUCTS(ceiling_mfma_xf32)
#else
#if defined(__gfx90a__) || defined(__gfx942__)
MATRIX_PRODUCTS(ceiling_mfma_f16, Half4, F32x16, __builtin_amdgcn_mfma_f32_32x32x8f16)
MATRIX_PRODUCTS(ceiling_mfma_bf16, Short4, F32x16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
MATRIX_PRODUCTS(ceiling_mfma_f32, float, F32x16, __builtin_amdgcn_mfma_f32_32x32x2f32)
MATRIX_PRODUCTS(ceiling_mfma_f64, double, F64x4, __builtin_amdgcn_mfma_f64_16x16x4f64)
#else
NO_PRODUCTS(ceiling_mfma_f16)
NO_PRODUCTS(ceiling_mfma_bf16)
NO_PRODUCTS(ceiling_mfma_f32)
NO_PRODUCTS(ceiling_mfma_f64)
#endif
#if defined(__gfx942__)
MATRIX_PRODUCTS(ceiling_mfma_i8, long, I32x16, __builtin_amdgcn_mfma_i32_32x32x16_i8)
MATRIX_PRODUCTS(ceiling_mfma_f8, long, F32x16, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
MATRIX_PRODUCTS(ceiling_mfma_xf32, F32x2, F32x16, __builtin_amdgcn_mfma_f32_32x32x4_xf32)
#elif defined(__gfx90a__)
MATRIX_PRODUCTS(ceiling_mfma_i8, int, I32x16, __builtin_amdgcn_mfma_i32_32x32x8i8)
NO_PRODUCTS(ceiling_mfma_f8)
NO_PRODUCTS(ceiling_mfma_xf32)
#else
NO_PRODUCTS(ceiling_mfma_i8)
NO_PRODUCTS(ceiling_mfma_f8)
NO_PRODUCTS(ceiling_mfma_xf32)
#endif
#endif

namespace {

struct Arithmetic {
  const char* name;
  void (*kernel)(int);
  double operations_per_step;  // per wave of 64 lanes, or per matrix instruction
  int short_steps, long_steps;
};

// CEILING_*_DEPTH: the depth (K) of the target's matrix instructions.
#ifndef CEILING_I8_DEPTH
#define CEILING_F16_DEPTH 8
#define CEILING_F8_DEPTH 16
#define CEILING_I8_DEPTH 16
#endif
constexpr double kSquare = 2.0 * 32 * 32;
const Arithmetic kArithmetic[] = {
    {"valu_f16", ceiling_valu_f16, 64 * 4, 512, 2048},
    {"valu_f32", ceiling_valu_f32, 64 * 2, 512, 2048},
    {"valu_f64", ceiling_valu_f64, 64 * 2, 512, 2048},
    {"mfma_f16", ceiling_mfma_f16, kSquare * CEILING_F16_DEPTH, 64, 256},
    {"mfma_bf16", ceiling_mfma_bf16, kSquare * CEILING_F16_DEPTH, 64, 256},
    {"mfma_f32", ceiling_mfma_f32, kSquare * 2, 64, 256},
    {"mfma_f64", ceiling_mfma_f64, 2.0 * 16 * 16 * 4, 64, 256},
    {"mfma_i8", ceiling_mfma_i8, kSquare * CEILING_I8_DEPTH, 64, 256},
    {"mfma_f8", ceiling_mfma_f8, kSquare * CEILING_F8_DEPTH, 64, 256},
    {"mfma_xf32", ceiling_mfma_xf32, kSquare * 4, 64, 256},
};

struct Device {
  int groups;  // four workgroups of four waves per compute unit
  int wave_size;
  int divisor;  // divides the work
};

void report(double short_work, double long_work) { std::printf("%.17g %.17g\n", short_work, long_work); }

bool arithmetic(const char* name, int repeats, const Device& device) {
  for (const Arithmetic& benchmark : kArithmetic) {
    if (std::strcmp(name, benchmark.name) != 0) continue;
    const int few = benchmark.short_steps / device.divisor, many = benchmark.long_steps / device.divisor;
    const bool matrix = name[0] == 'm';
    const int groups = matrix && device.divisor > 1 ? device.groups / 2 : device.groups;  // two waves per SIMD suffice
    for (int i = 0; i <= repeats; ++i) {
      benchmark.kernel<<<groups, kThreads>>>(few);
      benchmark.kernel<<<groups, kThreads>>>(many);
      CHECK(hipDeviceSynchronize());
    }
    const double per_group = benchmark.operations_per_step * kThreads / (matrix ? device.wave_size : 64);
    report(per_group * groups * few, per_group * groups * many);
    return true;
  }
  return false;
}

constexpr size_t kMiB = size_t{1} << 20;

// Every launch reads `short_bytes` or `long_bytes` and wraps around within `region` bytes. The region is either the same for
// every launch, or fresh: no earlier launch has read it, so no cache holds it.
struct Read {
  size_t region, short_bytes, long_bytes;
  bool fresh;
};

void read(const Read& plan, int repeats, const Device& device) {
  const size_t per_step = static_cast<size_t>(device.groups) * kThreads * sizeof(Line);
  const auto steps = [&](size_t bytes) { return std::max(1, static_cast<int>(bytes / per_step / kInFlight)) * kInFlight; };
  const int few = steps(plan.short_bytes), many = steps(plan.long_bytes);
  const int regions = plan.fresh ? 2 * (repeats + 1) : 1;
  char* buffer = nullptr;
  CHECK(hipMalloc(&buffer, plan.region * regions));
  int launches = 0;
  const auto launch = [&](int count) {
    const auto* from = reinterpret_cast<const Line*>(buffer + plan.region * (launches++ % regions));
    ceiling_read<<<device.groups, kThreads>>>(from, plan.region / sizeof(Line), count);
  };
  for (int i = 0; i <= repeats; ++i) {
    launch(few);
    launch(many);
    CHECK(hipDeviceSynchronize());
  }
  report(static_cast<double>(per_step) * few, static_cast<double>(per_step) * many);
  CHECK(hipFree(buffer));
}

bool memory(const char* name, int repeats, const Device& device) {
  const size_t all = static_cast<size_t>(device.groups) * kThreads * sizeof(Line);
  const size_t few = 64 / device.divisor * all, many = 256 / device.divisor * all;
  const size_t half = device.divisor > 1 ? 2 : 1;
  if (!std::strcmp(name, "HBM")) {
    read({512 * kMiB / half, 128 * kMiB / half, 512 * kMiB / half, true}, repeats, device);
  } else if (!std::strcmp(name, "MALL")) {
    read({64 * kMiB, 64 * kMiB, 192 * kMiB / half, false}, repeats, device);  // a region larger than any L2, read repeatedly
  } else if (!std::strcmp(name, "L2")) {
    read({2 * kMiB, few, many, false}, repeats, device);
  } else if (!std::strcmp(name, "L1")) {
    read({8 * 1024, few, many, false}, repeats, device);
  } else if (!std::strcmp(name, "LDS")) {
    for (int i = 0; i <= repeats; ++i) {
      ceiling_lds<<<device.groups, kThreads>>>(static_cast<int>(few / all));
      ceiling_lds<<<device.groups, kThreads>>>(static_cast<int>(many / all));
      CHECK(hipDeviceSynchronize());
    }
    report(static_cast<double>(few), static_cast<double>(many));
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool brief = argc == 4 && !std::strcmp(argv[3], "brief");
  if (argc != 4 || !(brief || !std::strcmp(argv[3], "full"))) {
    std::fprintf(stderr, "usage: ceilings NAME REPEATS full|brief\n");
    return 64;
  }
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  const Device device{4 * properties.multiProcessorCount, properties.warpSize, brief ? 4 : 1};
  const int repeats = std::atoi(argv[2]);
  if (arithmetic(argv[1], repeats, device) || memory(argv[1], repeats, device)) return 0;
  std::fprintf(stderr, "%s: no such benchmark\n", argv[1]);
  return 64;
}
