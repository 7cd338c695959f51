// Pairs of kernels that do the same work in a better and a worse way. The timing model must rank them.
//   ranking        runs every kernel once; the results are not checked, only the times matter
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                      \
  do {                                                                   \
    hipError_t error = (call);                                           \
    if (error != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(2);                                                      \
    }                                                                    \
  } while (0)

using half4 = _Float16 __attribute__((ext_vector_type(4)));
using float4v = float __attribute__((ext_vector_type(4)));

// ---- the same chain of dependent loads, with few and with many waves: the time per load must fall ----
__device__ void chase(const int* next, int* out, int steps) {
  int at = threadIdx.x;
  for (int i = 0; i < steps; ++i) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
__global__ void chase_one_wave(const int* next, int* out, int steps) { chase(next, out, steps); }
__global__ void chase_many_waves(const int* next, int* out, int steps) { chase(next, out, steps); }

// ---- a wave reads line after line, just after another wave has asked for the same one, or for none: the data comes no sooner ----
template <bool Touches>
__device__ void follow(const int* in, int* out, int steps) {
  const int* line = in;
  for (int i = 0; i < steps; ++i, line += 64) {
    if (threadIdx.x < 64 && Touches) asm volatile("global_load_dword v40, %0, off" ::"v"(line) : "v40");
    __builtin_amdgcn_s_barrier();
    if (threadIdx.x >= 64) {
      line += *line;
      asm volatile("s_waitcnt vmcnt(0)");
    }
    __builtin_amdgcn_s_barrier();
  }
  if (threadIdx.x == 64) *out = line - in;
}
__global__ void lines_first_touched(const int* in, int* out, int steps) { follow<false>(in, out, steps); }
__global__ void lines_just_touched(const int* in, int* out, int steps) { follow<true>(in, out, steps); }

// ---- four loads: each waited for, or all in flight ----
__global__ void loads_one_by_one(const float* in, float* out, int n) {
  const int stride = gridDim.x * blockDim.x;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    sum += in[i];
    asm volatile("s_waitcnt vmcnt(0)");
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void loads_unrolled(const float* in, float* out, int n) {
  const int stride = gridDim.x * blockDim.x;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + 7 * stride < n; i += 8 * stride) {
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = in[i + k * stride];
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += v[k];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// ---- n floats, neighbours adjacent or a line apart ----
__global__ void copy_contiguous(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i % n];
}
__global__ void copy_strided(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * 32ll % n];
}

// ---- a branch that all lanes take in the same way, or only every second one takes ----
__device__ float side_a(float x, int n) {
  for (int i = 0; i < n; ++i) x = x * 1.0001f + 0.5f;
  return x;
}
__device__ float side_b(float x, int n) {
  for (int i = 0; i < n; ++i) x = x * 0.9999f - 0.5f;
  return x;
}
__global__ void branch_uniform(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = static_cast<float>(i);
  out[i] = blockIdx.x % 2 ? side_a(x, n) : side_b(x, n);
}
__global__ void branch_divergent(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = static_cast<float>(i);
  out[i] = threadIdx.x % 2 ? side_a(x, n) : side_b(x, n);
}

// ---- 16x16x16 products: 8192 operations by one matrix instruction, or by 64 vector instructions of 128 each ----
__global__ void products_matrix(float* out, int n) {
  half4 a = {1, 2, 3, 4}, b = {static_cast<_Float16>(threadIdx.x % 3), 1, 2, 1};
  float4v c0 = {}, c1 = {};
  for (int i = 0; i < n; i += 32) {
#pragma unroll
    for (int k = 0; k < 16; ++k) {  // two chains, so that no product waits for the one before
      c0 = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c0, 0, 0, 0);
      c1 = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c1, 0, 0, 0);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = c0[0] + c1[1];
}
__global__ void products_vector(float* out, int n) {
  float c[8] = {};
  const float a = 1.5f, b = static_cast<float>(threadIdx.x % 3);
#pragma unroll 16
  for (int i = 0; i < n * 8; ++i) {
#pragma unroll
    for (int k = 0; k < 8; ++k) c[k] = __builtin_fmaf(a, c[k], b);
  }
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += c[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// ---- LDS: 32 banks, or one ----
template <int Stride>
__device__ void lds_sum(float* out, int n) {
  __shared__ float data[64 * Stride + 64];
  for (int i = threadIdx.x; i < 64 * Stride + 64; i += 64) data[i] = i;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += data[threadIdx.x * Stride + (i & 31)];
    asm volatile("" ::: "memory");  // load it again
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void lds_conflict_free(float* out, int n) { lds_sum<1>(out, n); }
__global__ void lds_conflicts(float* out, int n) { lds_sum<32>(out, n); }

// ---- the same sums, by atomics on words of their own, of a few blocks, and of one word ----
__device__ void count(unsigned* to, unsigned words) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&to[i * 2654435761u % words], 1u);
}
__global__ void atomics_spread(unsigned* to, unsigned words) { count(to, words); }
__global__ void atomics_crowded(unsigned* to, unsigned words) { count(to, words); }
__global__ void atomics_on_one(unsigned* to, unsigned words) { count(to, words); }

// ---- a table that fits into an L2, read again after each part of a stream, with which it does not fit ----
template <bool Streaming>
__device__ void table_and_stream(const float4v* table, float4v* stream, int rounds) {
  constexpr int table_size = (3 << 20) / sizeof(float4v), part = (2 << 20) / sizeof(float4v);
  float4v sum = {};
  for (int round = 0; round < rounds; ++round) {
    for (int k = threadIdx.x; k < table_size; k += blockDim.x) sum += table[k];
    float4v* to = stream + (round * gridDim.x + blockIdx.x) * part;
    for (int k = threadIdx.x; k < part; k += blockDim.x) {
      if (Streaming) __builtin_nontemporal_store(sum, &to[k]);
      else to[k] = sum;
    }
  }
}
__global__ void stores_streaming(const float4v* table, float4v* stream, int rounds) {
  table_and_stream<true>(table, stream, rounds);
}
__global__ void stores_usual(const float4v* table, float4v* stream, int rounds) {
  table_and_stream<false>(table, stream, rounds);
}

int main() {
  constexpr int n = 1 << 20;
  float *in, *out;
  int* next;
  CHECK(hipMalloc(&in, n * sizeof(float)));
  CHECK(hipMalloc(&out, n * sizeof(float)));
  CHECK(hipMalloc(&next, n * sizeof(int)));
  CHECK(hipMemset(in, 0, n * sizeof(float)));
  CHECK(hipMemset(next, 0, n * sizeof(int)));
  chase_one_wave<<<1, 64>>>(next, reinterpret_cast<int*>(out), 256);
  chase_many_waves<<<8, 64>>>(next, reinterpret_cast<int*>(out), 256);
  lines_first_touched<<<1, 128>>>(next + n / 2, reinterpret_cast<int*>(out), 256);
  lines_just_touched<<<1, 128>>>(next + n / 4, reinterpret_cast<int*>(out), 256);
  loads_one_by_one<<<64, 64>>>(in, out, n);
  loads_unrolled<<<64, 64>>>(in, out, n);
  copy_contiguous<<<n / 256, 256>>>(in, out, n);
  copy_strided<<<n / 256, 256>>>(in, out, n);
  branch_uniform<<<608, 256>>>(out, 256);
  branch_divergent<<<608, 256>>>(out, 256);
  products_matrix<<<1, 256>>>(out, 1);  // its code is in the instruction caches now
  products_matrix<<<304, 256>>>(out, 512);
  products_vector<<<304, 256>>>(out, 512);
  lds_conflict_free<<<2128, 64>>>(out, 256);
  lds_conflicts<<<2128, 64>>>(out, 256);
  atomics_spread<<<512, 256>>>(reinterpret_cast<unsigned*>(out), 1 << 20);
  atomics_crowded<<<512, 256>>>(reinterpret_cast<unsigned*>(out), 256);
  atomics_on_one<<<512, 256>>>(reinterpret_cast<unsigned*>(out), 1);
  constexpr int rounds = 3;
  float4v *table, *stream;
  CHECK(hipMalloc(&table, 3 << 20));
  CHECK(hipMalloc(&stream, rounds * 8 * (2 << 20)));
  CHECK(hipMemset(table, 0, 3 << 20));
  for (int warm = 0; warm < 2; ++warm) {  // the table is in the Infinity Cache
    stores_usual<<<8, 1024>>>(table, stream, rounds);
    stores_streaming<<<8, 1024>>>(table, stream, rounds);
  }
  CHECK(hipDeviceSynchronize());
  std::puts("PASS");
  return 0;
}
