// Loops of one class of instructions each, and loops of the testbed's kernels for the host: see device.py.
//
//     device CLASS TIMES     launches 64 workgroups of 4 waves, each of which goes TIMES through 32 such instructions
//     device host-LOOP SIZE TIMES
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define X4(text) text text text text
#define X32(text) X4(text) X4(text) X4(text) X4(text) X4(text) X4(text) X4(text) X4(text)

constexpr int kGroups = 64, kThreads = 256;

// Registers that the compiler does not use: each kernel is one block of assembly around a loop of its own.
#define LOOP(NAME, SETUP, BODY, AFTER, ...)                                                                      \
  __global__ void __launch_bounds__(256) NAME(int times, char* memory) {                                         \
    __shared__ float4 lds[256];                                                                                  \
    lds[threadIdx.x] = float4{1, 2, 3, 4};                                                                       \
    __syncthreads();                                                                                             \
    asm volatile("" : : "v"(lds) : "memory"); /* or the compiler would not allocate it */                        \
    char* at = memory + (blockIdx.x * 256 + threadIdx.x) * 16;                                                   \
    asm volatile(SETUP "\n\ts_mov_b32 s60, %0\n1:\n" BODY "\ts_sub_u32 s60, s60, 1\n\ts_cmp_lg_u32 s60, 0\n"     \
                       "\ts_cbranch_scc1 1b\n" AFTER                                                             \
                 : : "s"(times), "v"(at), "s"(memory), "v"(threadIdx.x * 4), "v"((threadIdx.x * 7919 % 256) * 16384) \
                 : "memory", "scc", "vcc", "s60", "s61", "s62", "s63", "s64", "s65", "v40", "v41", "v42", "v43", "v44", "v45", "v46",  \
                   "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61",\
                   "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71");                        \
  }

#define ONES "v_mov_b32 v40, 1.0\n\tv_mov_b32 v41, 1.0\n\tv_mov_b32 v42, 0\n\tv_mov_b32 v43, 0\n\tv_mov_b32 v44, 0\n\tv_mov_b32 v45, 0\n"

LOOP(scalar_add, ONES, X32("\ts_add_u32 s61, s61, s62\n"), "")
LOOP(add_f32, ONES, X32("\tv_add_f32 v42, v40, v41\n"), "")
LOOP(fma_f32, ONES, X32("\tv_fma_f32 v42, v40, v41, v43\n"), "")
LOOP(fma_f64, ONES, X32("\tv_fma_f64 v[44:45], v[40:41], v[40:41], v[42:43]\n"), "")
LOOP(fma_packed_f32, ONES, X32("\tv_pk_fma_f32 v[44:45], v[40:41], v[40:41], v[42:43]\n"), "")
LOOP(fma_packed_f16, ONES, X32("\tv_pk_fma_f16 v44, v40, v41, v42\n"), "")
LOOP(add_u32, ONES, X32("\tv_add_u32 v42, v40, v41\n"), "")
LOOP(logic, ONES, X32("\tv_and_b32 v42, v40, v41\n"), "")
LOOP(multiply_u32, ONES, X32("\tv_mul_lo_u32 v42, v40, v41\n"), "")
LOOP(compare_select, ONES, X32("\tv_cmp_lt_f32 vcc, v40, v41\n\tv_cndmask_b32 v42, v40, v41, vcc\n"), "")
LOOP(exp_f32, ONES, X32("\tv_exp_f32 v42, v40\n"), "")
LOOP(log_f32, ONES, X32("\tv_log_f32 v42, v40\n"), "")
LOOP(rcp_f32, ONES, X32("\tv_rcp_f32 v42, v40\n"), "")
LOOP(rsq_f32, ONES, X32("\tv_rsq_f32 v42, v40\n"), "")
LOOP(sqrt_f32, ONES, X32("\tv_sqrt_f32 v42, v40\n"), "")
LOOP(sin_f32, ONES, X32("\tv_sin_f32 v42, v40\n"), "")
LOOP(add_packed_f16, ONES, X32("\tv_pk_add_f16 v42, v40, v41\n"), "")
LOOP(convert_f16, ONES, X32("\tv_cvt_f16_f32 v42, v40\n"), "")
LOOP(dpp, ONES, X32("\tv_add_f32 v42, v40, v41 row_shr:1\n"), "")
LOOP(scalar_load, ONES, X32("\ts_load_dword s61, %2, 0x0\n"), "\ts_waitcnt lgkmcnt(0)\n")
LOOP(load, ONES, X32("\tglobal_load_dword v42, %3, %2\n"), "\ts_waitcnt vmcnt(0)\n")
LOOP(load_x4, ONES, X32("\tglobal_load_dwordx4 v[42:45], %1, off\n"), "\ts_waitcnt vmcnt(0)\n")
LOOP(load_scattered, ONES, X32("\tglobal_load_dword v42, %4, %2\n"), "\ts_waitcnt vmcnt(0)\n")
LOOP(store, ONES, X32("\tglobal_store_dword %3, v40, %2\n"), "\ts_waitcnt vmcnt(0)\n")
LOOP(lds_read, ONES, X32("\tds_read_b32 v42, %3\n"), "\ts_waitcnt lgkmcnt(0)\n")
LOOP(lds_read_x4, ONES "\tv_lshlrev_b32 v46, 2, %3\n", X32("\tds_read_b128 v[42:45], v46\n"), "\ts_waitcnt lgkmcnt(0)\n")
LOOP(lds_write, ONES, X32("\tds_write_b32 %3, v40\n"), "\ts_waitcnt lgkmcnt(0)\n")
LOOP(mfma_f16, ONES, X32("\tv_mfma_f32_32x32x8_f16 v[48:63], v[40:41], v[42:43], v[48:63]\n"), "\ts_nop 15\n\ts_nop 15\n")
LOOP(mfma_f32, ONES, X32("\tv_mfma_f32_32x32x2_f32 v[48:63], v40, v41, v[48:63]\n"), "\ts_nop 15\n\ts_nop 15\n")
__global__ void waves(int, char*) {}

// ---- the testbed's kernels, for one core of the host ----

static double checksum(const std::vector<float>& values) { return values[0] + values[values.size() / 2]; }

static double host_vcopy(long n, long times) {
  std::vector<double> from(n, 1), to(n);
  for (; times > 0; --times) {
    asm volatile("" : : "r"(from.data()) : "memory");
    for (long i = 0; i < n; ++i) to[i] = from[i];
    asm volatile("" : : "r"(to.data()) : "memory");
  }
  return to[0];
}
static double host_gemm(long n, long times) {
  std::vector<float> a(n * n, 1), b(n * n, 2), c(n * n);
  for (; times > 0; --times) {
    std::memset(c.data(), 0, n * n * sizeof(float));
    for (long k0 = 0; k0 < n; k0 += 64) {
      for (long i = 0; i < n; ++i) {
        for (long k = k0; k < k0 + 64 && k < n; ++k) {
          const float factor = a[i * n + k];
          for (long j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
        }
      }
    }
    asm volatile("" : : "r"(c.data()) : "memory");
  }
  return checksum(c);
}
static double host_softmax(long n, long times) {
  const long columns = n / 2;
  std::vector<float> in(n * columns, 1), out(n * columns);
  for (; times > 0; --times) {
    asm volatile("" : : "r"(in.data()) : "memory");
    for (long row = 0; row < n; ++row) {
      const float* x = &in[row * columns];
      float* y = &out[row * columns];
      float most = x[0], sum = 0;
      for (long i = 0; i < columns; ++i) most = std::fmax(most, x[i]);
      for (long i = 0; i < columns; ++i) sum += y[i] = std::exp(x[i] - most);
      for (long i = 0; i < columns; ++i) y[i] /= sum;
    }
    asm volatile("" : : "r"(out.data()) : "memory");
  }
  return checksum(out);
}
static double host_reduction(long n, long times) {
  std::vector<int> values(n, 1);
  int sum = 0;
  for (; times > 0; --times) {
    asm volatile("" : : "r"(values.data()) : "memory");
    for (long i = 0; i < n; ++i) sum += values[i];
  }
  return sum;
}

using Kernel = void (*)(int, char*);
struct Named { const char* name; Kernel kernel; };
#define NAMED(NAME) {#NAME, NAME}
static const Named kKernels[] = {
    NAMED(scalar_add), NAMED(add_f32), NAMED(fma_f32), NAMED(fma_f64), NAMED(fma_packed_f32), NAMED(fma_packed_f16),
    NAMED(add_u32), NAMED(logic), NAMED(multiply_u32), NAMED(compare_select), NAMED(exp_f32), NAMED(convert_f16), NAMED(dpp),
    NAMED(log_f32), NAMED(rcp_f32), NAMED(rsq_f32), NAMED(sqrt_f32), NAMED(sin_f32), NAMED(add_packed_f16),
    NAMED(scalar_load), NAMED(load), NAMED(load_x4), NAMED(load_scattered), NAMED(store), NAMED(lds_read), NAMED(lds_read_x4),
    NAMED(lds_write), NAMED(mfma_f16), NAMED(mfma_f32),
};

static int on_device(const std::string& name, int times) {
  char* memory = nullptr;
  if (hipMalloc(&memory, 8 << 20) != hipSuccess || hipMemset(memory, 0, 8 << 20) != hipSuccess) return 1;
  if (name == "waves") {
    hipLaunchKernelGGL(waves, times * kGroups, kThreads, 0, 0, times, memory);
    return hipDeviceSynchronize();
  }
  for (const Named& one : kKernels) {
    if (name != one.name) continue;
    hipLaunchKernelGGL(one.kernel, kGroups, kThreads, 0, 0, times, memory);
    return hipDeviceSynchronize();
  }
  return std::fprintf(stderr, "device: there is no %s\n", name.c_str()), 2;
}

int main(int count, char** given) {
  if (count == 4) {
    const std::string loop = given[1];
    const long n = std::atol(given[2]), times = std::atol(given[3]);
    const auto run = loop == "host-vcopy" ? host_vcopy : loop == "host-gemm" ? host_gemm : loop == "host-softmax" ? host_softmax : host_reduction;
    std::printf("%g\n", run(n, times));
    return 0;
  }
  if (count != 3) return std::fprintf(stderr, "usage: device CLASS TIMES\n"), 2;
  return on_device(given[1], std::atoi(given[2]));
}
