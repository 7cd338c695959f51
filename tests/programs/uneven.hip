// Kernels in which some workgroups have more to do than the others, and kernels in which that comes last.
//
//   uneven    launches each kind of extra work: nowhere, in workgroup 0, in workgroup 37; then late() likewise
#include <hip/hip_runtime.h>

#include <cstdio>

#define MUST(call) \
  if ((call) != hipSuccess) return std::printf("%s failed\n", #call), 1

enum Kind { Loads, Lds, Vector, Matrix, Scalar, Nops, Sleeps, Turns, Loads_and_lds };
constexpr int kThreads = 512, kGroups = 64;
constexpr int kLateGroups = 3344, kLateThreads = 64;  // 11 workgroups per CU, two at a time: their LDS fills it

__device__ void loads(const float* own_line) {
  asm volatile(".rept 80\n global_load_dword v50, %0, off\n .endr\n s_waitcnt vmcnt(0)" ::"v"(own_line) : "v50");
}
__device__ void lds() {
  asm volatile(".rept 60\n ds_read_b32 v50, %0\n .endr\n s_waitcnt lgkmcnt(0)" ::"v"((threadIdx.x & 63) * 128) : "v50");
}

template <Kind K>
__device__ void work(const float* in) {
  if constexpr (K == Loads || K == Loads_and_lds) loads(in + threadIdx.x * 64);
  if constexpr (K == Lds || K == Loads_and_lds) lds();
  if constexpr (K == Vector) asm volatile(".rept 300\n v_exp_f32 v50, v50\n .endr" ::: "v50");
  if constexpr (K == Matrix)
    asm volatile(".rept 200\n v_mfma_f64_16x16x4_f64 a[0:7], v[50:51], v[50:51], a[0:7]\n .endr" ::
                     : "v50", "v51", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7");
  if constexpr (K == Scalar) asm volatile(".rept 2000\n s_add_u32 s40, s40, 1\n .endr" ::: "s40", "scc");
  if constexpr (K == Nops) asm volatile(".rept 200\n s_nop 15\n .endr");
  if constexpr (K == Sleeps) asm volatile("s_sleep 127\n s_sleep 127");
  if constexpr (K == Turns) {
    for (unsigned wave = 0; wave < blockDim.x / 64; ++wave) {
      if (threadIdx.x / 64 == wave)
        asm volatile(".rept 10\n global_load_dword v50, %0, off sc0 sc1\n s_waitcnt vmcnt(0)\n .endr" ::"v"(in) : "v50");
      __syncthreads();
    }
  }
}

template <Kind K>
__global__ void __launch_bounds__(512) uneven(const float* in, float* out, int busy) {
  __shared__ float tile[64 * 32];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = tile[threadIdx.x ^ 64] * 2;
  if (static_cast<int>(blockIdx.x) == busy) work<K>(in);
}

// The same for all workgroups from `from` until `to`.
__global__ void late(const float* in, float* out, int from, int to) {
  __shared__ float tile[7500];
  tile[threadIdx.x] = in[threadIdx.x];
  const int group = static_cast<int>(blockIdx.x);
  if (group >= from && group < to)
    asm volatile(".rept 60\n global_load_dword v50, %0, off sc0 sc1\n s_waitcnt vmcnt(0)\n .endr" ::"v"(in) : "v50");
  out[blockIdx.x * kLateThreads + threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Each workgroup stores a sum; the last one to be done adds them all up. Useless: each sum on the way is stored, too.
template <bool Useless>
__global__ void last_adds_up(const float* in, float* partial, unsigned* done, float* out) {
  __shared__ unsigned ticket;
  const int i = blockIdx.x * kLateThreads + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; ++k) {
    if (Useless) *static_cast<volatile float*>(&partial[i]) = sum;
    sum += in[(i * 16 + k) % (kThreads * 64)];
  }
  partial[i] = sum;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) ticket = atomicAdd(done, 1u);
  __syncthreads();
  if (ticket != gridDim.x - 1) return;
  __threadfence();
  float all = 0;
  for (unsigned group = 0; group < gridDim.x; ++group) all += partial[group * kLateThreads + threadIdx.x];
  out[threadIdx.x] = all;
  if (threadIdx.x == 0) *done = 0;
}

template <Kind K>
void launch(const float* in, float* out) {
  uneven<K><<<kGroups, kThreads>>>(in, out, -1);  // warms the instruction cache
  for (const int busy : {-1, 0, 37}) uneven<K><<<kGroups, kThreads>>>(in, out, busy);
}

int main() {
  float *in, *out;
  MUST(hipMalloc(&in, kThreads * 64 * sizeof(float)));
  MUST(hipMalloc(&out, kLateGroups * kThreads * sizeof(float)));
  MUST(hipMemset(in, 0, kThreads * 64 * sizeof(float)));
  launch<Loads>(in, out);
  launch<Lds>(in, out);
  launch<Vector>(in, out);
  launch<Matrix>(in, out);
  launch<Scalar>(in, out);
  launch<Nops>(in, out);
  launch<Sleeps>(in, out);
  launch<Turns>(in, out);
  launch<Loads_and_lds>(in, out);
  late<<<kLateGroups, kLateThreads>>>(in, out, 0, 0);
  late<<<kLateGroups, kLateThreads>>>(in, out, 0, 0);
  late<<<kLateGroups, kLateThreads>>>(in, out, 0, 608);
  late<<<kLateGroups, kLateThreads>>>(in, out, 2736, kLateGroups);
  late<<<kLateGroups, kLateThreads>>>(in, out, 3300, 3301);
  late<<<kLateGroups, kLateThreads>>>(in, out, 3040, 3041);
  unsigned* done;
  MUST(hipMalloc(&done, sizeof(unsigned)));
  MUST(hipMemset(done, 0, sizeof(unsigned)));
  for (int round = 0; round < 2; ++round)
    last_adds_up<false><<<kGroups * 8, kLateThreads>>>(in, out, done, out + kGroups * 512);
  for (int round = 0; round < 2; ++round) last_adds_up<true><<<kGroups * 8, kLateThreads>>>(in, out, done, out + kGroups * 512);
  MUST(hipDeviceSynchronize());
  std::printf("PASS\n");
}
