// Pairs of kernels: the second is the first without one thing that costs time. Each pair has a name, which both kernels bear.
// A test compares what experiments with the first predict with what the second takes. Arguments: the pairs to run, else all.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int kGroup = 256;
constexpr int kGroups = 2432;  // as many as the device holds at once
constexpr int kSlot = kGroups / 8;  // one on each of its CUs
constexpr int kThreads = kGroups * kGroup;
constexpr int kWindow = 1 << 14;  // floats: 64 KB, more than an L1 has, which all L2s hold
constexpr int kLargeWindow = 1 << 18;  // 1 MB, likewise

// ---- accesses ----

// Lanes `Stride` floats apart. The data is small, so that lines stay in the L2.
template <int Stride>
__device__ float gather(const float* in, int loads) {
  float sum = 0;
  const int lane = threadIdx.x % 64, wave = threadIdx.x / 64 + 4 * blockIdx.x;
  for (int i = 0; i < loads; ++i) sum += in[(lane * Stride + wave * 64 + i * 1031 * Stride) % kWindow];
  return sum;
}
template <int Stride>
__global__ void strided_before(const float* in, float* out) {
  out[blockIdx.x * kGroup + threadIdx.x] = gather<Stride>(in, 256 / Stride);
}
template <int Stride>
__global__ void strided_after(const float* in, float* out) {
  out[blockIdx.x * kGroup + threadIdx.x] = gather<1>(in, 256 / Stride);
}

// Each lane reads one member of its structure of `Members` floats.
template <int Members>
__global__ void structures_before(const float* in, float* out) {
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += in[((threadIdx.x + i * 67) * Members + i) % kWindow];
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}
template <int Members>
__global__ void structures_after(const float* in, float* out) {
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += in[(threadIdx.x + i * 67 + i * 1024) % kWindow];
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}

// ---- the LDS ----

template <int Stride>
__device__ void read_lds(float* out) {
  __shared__ float words[64 * 33];
  for (int i = threadIdx.x; i < 64 * 33; i += kGroup) words[i] = i;
  __syncthreads();
  float sum = 0;
  volatile float* const mine = words + threadIdx.x % 64 * Stride;
#pragma unroll 16
  for (int i = 0; i < 128; ++i) sum += mine[i % 16];
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}
template <int Stride, int Padded>
__global__ void banks_before(float* out) {
  read_lds<Stride>(out);
}
template <int Stride, int Padded>
__global__ void banks_after(float* out) {
  read_lds<Padded>(out);
}

// ---- atomics ----

template <int Words>
__global__ void counting_before(int* counts) {
  for (int i = 0; i < 2; ++i) atomicAdd(&counts[(threadIdx.x + i) % Words * 64], 1);
}
// Each wave has lines of its own.
template <int Words>
__global__ void counting_after(int* counts) {
  const int wave = threadIdx.x / 64 + 4 * blockIdx.x;
  for (int i = 0; i < 2; ++i) atomicAdd(&counts[wave * 64 + threadIdx.x % 64], 1);
}

// ---- latency ----

__global__ void chase_before(const int* next, int* out) {
  int at = threadIdx.x + blockIdx.x * kGroup;
  for (int i = 0; i < 64; ++i) at = next[(at + i * 67) & (kWindow - 1)];
  out[threadIdx.x + blockIdx.x * kGroup] = at;
}
__global__ void chase_after(const int* next, int* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum += next[(at + i * 67) & (kWindow - 1)];
  out[threadIdx.x + blockIdx.x * kGroup] = sum;
}

// One load at a time, by a wait after each; and eight.
__global__ void one_by_one_before(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    float value = in[(at + i * 67) & (kWindow - 1)];
    asm volatile("s_waitcnt vmcnt(0)" : "+v"(value));
    sum += value;
  }
  out[at] = sum;
}
__global__ void one_by_one_after(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum += in[(at + i * 67) & (kWindow - 1)];
  out[at] = sum;
}

// ---- where data is ----

__global__ void far_before(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < 16; ++i) sum += in[at + i * kThreads];
  out[at] = sum;
}
__global__ void far_after(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < 16; ++i) sum += in[(at + i * 4096) & (kLargeWindow - 1)];
  out[at] = sum;
}
__global__ void host_before(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  out[at] = in[at];
}
__global__ void host_after(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  out[at] = in[at];
}
// An array whose index the compiler does not know is in private memory.
__global__ void spilled_before(const int* in, int* out) {
  int mine[128];
  for (int i = 0; i < 128; ++i) mine[i] = threadIdx.x + i;
  int sum = 0;
  const int start = in[0];
  for (int i = 0; i < 64; ++i) {
    const int at = (start + i * 5) & 127;
    sum += mine[at];
    mine[at] = sum;
  }
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}
__global__ void spilled_after(const int* in, int* out) {
  int sum = threadIdx.x;
  const int start = in[0];
  for (int i = 0; i < 64; ++i) {
    const int at = (start + i * 5) & 127;
    sum += at;
    asm volatile("" : "+v"(sum));
  }
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}

// ---- waves ----

// Waves that wait: all the LDS of a CU for one workgroup, and a part of it for each.
template <int Bytes>
__device__ void wait_in_turn(const int* next, int* out) {
  __shared__ int filler[Bytes / 4];
  filler[threadIdx.x] = threadIdx.x;
  int at = filler[threadIdx.x ^ 1];
  for (int i = 0; i < 16; ++i) at = next[(at + i * 4096 + blockIdx.x) & (kWindow - 1)];
  out[blockIdx.x * kGroup + threadIdx.x] = at;
}
template <int Bytes>
__global__ void crowded_before(const int* next, int* out) {
  wait_in_turn<Bytes>(next, out);
}
template <int Bytes>
__global__ void crowded_after(const int* next, int* out) {
  wait_in_turn<1024>(next, out);
}

// `Times` items per thread, or one, in as many more workgroups.
template <int Times>
__global__ void few_threads_before(const int* next, int* out) {
  for (int i = 0; i < Times; ++i) {
    int at = threadIdx.x + (blockIdx.x * Times + i) * kGroup;
    for (int j = 0; j < 16; ++j) at = next[(at + j * 4096) & (kWindow - 1)];
    out[(blockIdx.x * Times + i) * kGroup + threadIdx.x] = at;
  }
}
template <int Times>
__global__ void few_threads_after(const int* next, int* out) {
  int at = threadIdx.x + blockIdx.x * kGroup;
  for (int j = 0; j < 16; ++j) at = next[(at + j * 4096) & (kWindow - 1)];
  out[blockIdx.x * kGroup + threadIdx.x] = at;
}

// Eight times as many workgroups as there is work for, or as many.
__global__ void idle_before(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  if (at < kThreads) out[at] = in[at % kWindow];
}
__global__ void idle_after(const float* in, float* out) {
  const int at = threadIdx.x + blockIdx.x * kGroup;
  if (at < kThreads) out[at] = in[at % kWindow];
}

// Every 64th workgroup does all the work, or each its share.
__global__ void uneven_before(const float* in, float* out) {
  float sum = threadIdx.x;
  const int rounds = blockIdx.x % 64 == 0 ? 64 * 64 : 64;
  for (int i = 0; i < rounds; ++i) asm volatile("v_exp_f32 %0, %0" : "+v"(sum));
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}
__global__ void uneven_after(const float* in, float* out) {
  float sum = threadIdx.x;
  for (int i = 0; i < 64 + 64 * 63 / 64; ++i) asm volatile("v_exp_f32 %0, %0" : "+v"(sum));
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}

// In each phase one wave has more to do than the others, and another one in the next.
template <bool Meet>
__device__ void phases(float* out) {
  float sum = threadIdx.x;
  const int wave = threadIdx.x / 64;
  for (int phase = 0; phase < 16; ++phase) {
    const int rounds = phase % 4 == wave ? 64 : 4;
    for (int i = 0; i < rounds; ++i) asm volatile("s_nop 7\n s_nop 7" : "+v"(sum));
    if (Meet) __syncthreads();
  }
  out[blockIdx.x * kGroup + threadIdx.x] = sum;
}
__global__ void meeting_before(float* out) { phases<true>(out); }
__global__ void meeting_after(float* out) { phases<false>(out); }

// ---- lanes ----

// Lanes take one of several paths each, or all lanes of a wave the same one.
template <int Ways>
__device__ void take(int way, float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int one = 0; one < Ways; ++one) {
      if (way != one) continue;
      for (int j = 0; j < 64; ++j) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(value));
    }
  }
  out[blockIdx.x * kGroup + threadIdx.x] = value;
}
template <int Ways>
__global__ void ways_before(float* out) {
  take<Ways>(threadIdx.x % Ways, out);
}
template <int Ways>
__global__ void ways_after(float* out) {
  take<Ways>(blockIdx.x / kSlot % Ways, out);
}

// Loops of 5 to 61 rounds: in each wave, or sorted, so that a wave's lanes have the same.
__device__ void go_round(int rounds, float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < rounds; ++i)
    for (int j = 0; j < 8; ++j) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(value));
  out[blockIdx.x * kGroup + threadIdx.x] = value;
}
__global__ void lengths_before(float* out) { go_round(5 + threadIdx.x % 64 / 8 * 8, out); }
__global__ void lengths_after(float* out) { go_round(5 + blockIdx.x / kSlot * 8, out); }

// ---- instructions ----

template <int Kind, bool Work>
__device__ void busy(float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < 64; ++i) {
    if constexpr (Work && Kind == 0)
      for (int j = 0; j < 32; ++j) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(value));
    if constexpr (Work && Kind == 1)
      for (int j = 0; j < 8; ++j) asm volatile("v_exp_f32 %0, %0" : "+v"(value));
    if constexpr (Work && Kind == 2)
      for (int j = 0; j < 8; ++j) asm volatile("s_nop 7\n s_nop 7" : "+v"(value));
    asm volatile("" : "+v"(value));
  }
  out[blockIdx.x * kGroup + threadIdx.x] = value;
}
template <int Kind>
__global__ void instructions_before(float* out) {
  busy<Kind, true>(out);
}
template <int Kind>
__global__ void instructions_after(float* out) {
  busy<Kind, false>(out);
}

using Vector4 = __attribute__((__vector_size__(4 * sizeof(float)))) float;
template <bool Work>
__device__ void multiply(float* out) {
  Vector4 sum = {0, 0, 0, 0};
  const float value = threadIdx.x;
  for (int i = 0; i < 64; ++i) {
    if constexpr (Work)
      for (int j = 0; j < 8; ++j) sum = __builtin_amdgcn_mfma_f32_16x16x4f32(value, value, sum, 0, 0, 0);
    asm volatile("" : "+v"(sum));
  }
  out[blockIdx.x * kGroup + threadIdx.x] = sum[0] + sum[3];
}
__global__ void matrices_before(float* out) { multiply<true>(out); }
__global__ void matrices_after(float* out) { multiply<false>(out); }

#define OK(CALL)                                        \
  if (hipError_t error = (CALL); error != hipSuccess) { \
    std::printf("%s\n", hipGetErrorString(error));      \
    return 1;                                           \
  }

int main(int argc, char** argv) {
  float *in, *out, *host;
  int *next, *counts;
  OK(hipMalloc(&in, sizeof(float) * kThreads * 16));
  OK(hipMalloc(&out, sizeof(float) * kThreads));
  OK(hipMalloc(&next, sizeof(int) * kWindow));
  OK(hipMalloc(&counts, sizeof(int) * 64 * 4 * kGroups));
  OK(hipHostMalloc(&host, sizeof(float) * kThreads));
  OK(hipMemset(in, 0, sizeof(float) * kWindow));
  OK(hipMemset(next, 0, sizeof(int) * kWindow));
  int* const ints = reinterpret_cast<int*>(out);
  const auto wanted = [&](const char* pair) {
    bool named = argc == 1;
    for (int i = 1; i < argc; ++i) named |= std::strcmp(argv[i], pair) == 0;
    return named;
  };
  const auto both = [&](const char* pair, auto before, auto after, auto... arguments) {
    if (!wanted(pair)) return;
    before<<<kGroups, kGroup>>>(arguments...);
    after<<<kGroups, kGroup>>>(arguments...);
  };
  both("strided", strided_before<4>, strided_after<4>, in, out);
  both("strided", strided_before<8>, strided_after<8>, in, out);
  both("strided", strided_before<32>, strided_after<32>, in, out);
  both("structures", structures_before<16>, structures_after<16>, in, out);
  both("banks", banks_before<32, 33>, banks_after<32, 33>, out);
  both("banks", banks_before<16, 17>, banks_after<16, 17>, out);
  both("banks", banks_before<8, 9>, banks_after<8, 9>, out);
  both("counting", counting_before<1>, counting_after<1>, counts);
  both("counting", counting_before<4>, counting_after<4>, counts);
  both("counting", counting_before<16>, counting_after<16>, counts);
  both("chase", chase_before, chase_after, next, ints);
  both("one_by_one", one_by_one_before, one_by_one_after, in, out);
  both("far", far_before, far_after, in, out);
  if (wanted("host")) {
    host_before<<<kGroups, kGroup>>>(host, out);
    host_after<<<kGroups, kGroup>>>(in, out);
  }
  both("spilled", spilled_before, spilled_after, next, ints);
  both("crowded", crowded_before<65536>, crowded_after<65536>, next, ints);
  if (wanted("few_threads")) {
    few_threads_before<16><<<kGroups / 16, kGroup>>>(next, ints);
    few_threads_after<16><<<kGroups, kGroup>>>(next, ints);
    few_threads_before<8><<<kGroups / 8, kGroup>>>(next, ints);
    few_threads_after<8><<<kGroups, kGroup>>>(next, ints);
  }
  if (wanted("idle")) {
    idle_before<<<8 * kGroups, kGroup>>>(in, out);
    idle_after<<<kGroups, kGroup>>>(in, out);
  }
  both("uneven", uneven_before, uneven_after, in, out);
  both("meeting", meeting_before, meeting_after, out);
  both("ways", ways_before<2>, ways_after<2>, out);
  both("ways", ways_before<8>, ways_after<8>, out);
  both("lengths", lengths_before, lengths_after, out);
  both("instructions", instructions_before<0>, instructions_after<0>, out);
  both("instructions", instructions_before<1>, instructions_after<1>, out);
  both("instructions", instructions_before<2>, instructions_after<2>, out);
  both("matrices", matrices_before, matrices_after, out);
  OK(hipDeviceSynchronize());
  return 0;
}
