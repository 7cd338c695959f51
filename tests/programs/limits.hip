// Kernels that each reach one limit of the hardware, and families of kernels that differ in one respect.
//   limits         runs every kernel; the results are not checked, only the times matter
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                             \
  do {                                                                          \
    hipError_t error = (call);                                                  \
    if (error != hipSuccess) {                                                  \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));        \
      std::exit(2);                                                             \
    }                                                                           \
  } while (0)

using half4 = _Float16 __attribute__((ext_vector_type(4)));
using float4v = float __attribute__((ext_vector_type(4)));

// The LDS address of an object.
template <class T>
__device__ unsigned lds_address(T* place) {
  return static_cast<unsigned>(reinterpret_cast<__UINTPTR_TYPE__>((__attribute__((address_space(3))) T*)place));
}

// ---- limits ----

// 16 chains of n multiply-adds per lane.
__global__ void peak_fma(float* out, int n) {
  float c[16];
  for (int k = 0; k < 16; ++k) c[k] = static_cast<float>(threadIdx.x + k);
  const float a = 0.5f, b = static_cast<float>(threadIdx.x % 3);
  for (int i = 0; i < n; i += 8) {
#pragma unroll
    for (int k = 0; k < 128; ++k) asm volatile("v_fma_f32 %0, %1, %0, %2" : "+v"(c[k % 16]) : "v"(a), "v"(b));
  }
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += c[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// 4 chains of n 32x32x8 products per wave: 16384 operations per instruction.
using float16v = float __attribute__((ext_vector_type(16)));
__global__ void peak_mfma(float* out, int n) {
  half4 a = {1, 2, 3, 4}, b = {static_cast<_Float16>(threadIdx.x % 3), 1, 2, 1};
  float16v c[4] = {};
  for (int i = 0; i < n; i += 4) {
#pragma unroll
    for (int k = 0; k < 16; ++k) c[k % 4] = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c[k % 4], 0, 0, 0);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = c[0][0] + c[1][1] + c[2][2] + c[3][3];
}

__global__ void peak_stream_read(const float4v* in, float* out, size_t n) {
  float sum = 0;
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) sum += in[i][0];
  if (sum == 12345) out[0] = sum;
}
__global__ void peak_stream_copy(const float4v* in, float4v* out, size_t n) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) out[i] = in[i];
}

// n reads of 16 bytes per lane, without conflicts.
__global__ void peak_lds(float* out, int n) {
  __shared__ float4v data[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) data[i] = float4v{1, 2, 3, 4};
  __syncthreads();
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < n; ++i) {
    float4v v;
    asm volatile("ds_read_b128 %0, %1" : "=v"(v) : "v"(lds_address(&data[threadIdx.x])) : "memory");
    if (i % 8 == 7) asm volatile("s_waitcnt lgkmcnt(0)");
    sum += i == n - 1 ? v[0] : 0;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// ---- families ----

// n dependent loads per wave, in more and more waves: all resident waves together pay the load's latency once.
template <int Waves>
__global__ void waves(const int* next, int* out, int n) {
  int at = threadIdx.x;
  for (int i = 0; i < n; ++i) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// 64 loads per lane, InFlight of them at a time.
template <int InFlight>
__global__ void in_flight(const float* in, float* out) {
  const int stride = gridDim.x * blockDim.x;
  const float* mine = in + blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 64; i += InFlight) {
    float v[InFlight];
#pragma unroll
    for (int k = 0; k < InFlight; ++k) v[k] = mine[(i + k) * stride];
#pragma unroll
    for (int k = 0; k < InFlight; ++k) sum += v[k];
    asm volatile("s_waitcnt vmcnt(0)" : "+v"(sum));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One load per lane, Stride floats apart; a line has 32 floats.
template <int Stride>
__global__ void strided(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[static_cast<size_t>(i) * Stride % n];
}

// Lanes take as many different paths as Ways says, all equally long.
template <int Ways>
__global__ void ways(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(i);
  for (int way = 0; way < Ways; ++way) {
    if (static_cast<int>(threadIdx.x) % Ways != way) continue;
#pragma unroll 16
    for (int k = 0; k < n; ++k) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(x));
  }
  out[i] = x;
}

template <int Stride>
__global__ void banks(float* out, int n) {
  __shared__ float data[64 * 32];
  for (int i = threadIdx.x; i < 64 * 32; i += 64) data[i] = i;
  __syncthreads();
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < n; ++i) {
    float v;
    asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(v) : "v"(lds_address(&data[threadIdx.x * Stride])) : "memory");
    sum += v;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main() {
  constexpr size_t stream_bytes = 256 << 20;
  constexpr int n = 1 << 22;
  float *in, *out;
  CHECK(hipMalloc(&in, stream_bytes));
  CHECK(hipMalloc(&out, stream_bytes));
  CHECK(hipMemset(in, 0, n * sizeof(float)));
  const int* next = reinterpret_cast<int*>(in);
  int* ints = reinterpret_cast<int*>(out);
  peak_fma<<<304, 512>>>(out, 256);
  peak_mfma<<<304, 512>>>(out, 128);
  peak_stream_read<<<2432, 256>>>(reinterpret_cast<float4v*>(in), out, stream_bytes / 16);
  peak_stream_copy<<<2432, 256>>>(reinterpret_cast<float4v*>(in), reinterpret_cast<float4v*>(out), stream_bytes / 16);
  peak_lds<<<304, 1024>>>(out, 256);
  waves<1><<<304 * 1, 64>>>(next, ints, 64);
  waves<2><<<304 * 2, 64>>>(next, ints, 64);
  waves<4><<<304 * 4, 64>>>(next, ints, 64);
  waves<8><<<304 * 8, 64>>>(next, ints, 64);
  in_flight<16><<<64, 64>>>(in, out);  // brings the data into the Infinity Cache
  in_flight<1><<<64, 64>>>(in, out);
  in_flight<2><<<64, 64>>>(in, out);
  in_flight<4><<<64, 64>>>(in, out);
  in_flight<8><<<64, 64>>>(in, out);
  in_flight<16><<<64, 64>>>(in, out);
  strided<1><<<n / 32 / 256, 256>>>(in, out, n);
  strided<4><<<n / 32 / 256, 256>>>(in, out, n);
  strided<8><<<n / 32 / 256, 256>>>(in, out, n);
  strided<16><<<n / 32 / 256, 256>>>(in, out, n);
  strided<32><<<n / 32 / 256, 256>>>(in, out, n);
  ways<1><<<608, 256>>>(out, 256);
  ways<2><<<608, 256>>>(out, 256);
  ways<4><<<608, 256>>>(out, 256);
  ways<8><<<608, 256>>>(out, 256);
  banks<1><<<608, 64>>>(out, 128);
  banks<2><<<608, 64>>>(out, 128);
  banks<4><<<608, 64>>>(out, 128);
  banks<8><<<608, 64>>>(out, 128);
  banks<16><<<608, 64>>>(out, 128);
  banks<32><<<608, 64>>>(out, 128);
  CHECK(hipDeviceSynchronize());
  std::puts("PASS");
  return 0;
}
