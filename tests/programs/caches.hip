// Kernels whose address streams a test can write down: from these and the caches follow the expected counter values.
#include <hip/hip_runtime.h>

#include <cstdio>

constexpr int kLanes = 64;
constexpr int kGroup = 256;

// One load of 4 bytes per lane, `stride` floats apart; 256 groups.
__global__ void strided(const float* in, float* out, int stride) {
  const int i = blockIdx.x * kGroup + threadIdx.x;
  out[i] = in[static_cast<size_t>(i) * stride];
}

// Every group reads the same block four times, one pass at a time; the block fits the L1.
__global__ void reuse(const float* in, float* out, int block) {
  const int i = blockIdx.x * kGroup + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int pass = 0; pass < 4; ++pass) {
#pragma unroll 1
    for (int at = threadIdx.x; at < block; at += kGroup) sum += in[at];
    __syncthreads();
  }
  out[i] = sum;
}

// One LDS read of 4 bytes per lane, `stride` words apart, by one wave.
template <int Stride>
__global__ void lds_stride(float* out) {
  __shared__ float words[33 * kLanes];
  asm volatile("" ::"v"(words) : "memory");
  float value;
  const unsigned address = static_cast<unsigned>(threadIdx.x) * Stride * 4;
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(value) : "v"(address) : "memory");
  out[threadIdx.x] = value;
}

// A branch that half of the lanes take, with ten vector instructions, written out so that the compiler keeps them.
template <int Taken>
__global__ void half_active(int* out) {
  int x = threadIdx.x;
  if (static_cast<int>(threadIdx.x) < Taken) {
    asm volatile(
        "v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n"
        "v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n v_add_u32 %0, %0, %0\n"
        : "+v"(x));
  }
  out[threadIdx.x] = x;
}

// Three rounds over so many pages of 2 MB, all zeros: a load after the other, each from another line.
__global__ void pages(const int* in, int* out, int count) {
  int value = threadIdx.x;  // 0, in a vector register: scalar loads have another path
#pragma unroll 1
  for (int round = 0; round < 3; ++round) {
#pragma unroll 1
    for (int page = 0; page < count; ++page) value = in[static_cast<size_t>(page) * (1 << 19) + page * 32 + value];
  }
  *out = value;
}

template <int Stride>
void launch_lds(float* out) {
  lds_stride<Stride><<<1, kLanes>>>(out);
}

int main() {
  constexpr int groups = 256;
  float *in, *out;
  if (hipMalloc(&in, groups * kGroup * 64 * sizeof(float)) != hipSuccess) return 1;
  if (hipMalloc(&out, groups * kGroup * sizeof(float)) != hipSuccess) return 1;
  strided<<<groups, kGroup>>>(in, out, 1);
  strided<<<groups, kGroup>>>(in, out, 2);
  strided<<<groups, kGroup>>>(in, out, 32);
  strided<<<groups, kGroup>>>(in, out, 64);
  reuse<<<groups, kGroup>>>(in, out, 4096);
  launch_lds<1>(out);
  launch_lds<2>(out);
  launch_lds<4>(out);
  launch_lds<8>(out);
  launch_lds<16>(out);
  launch_lds<32>(out);
  launch_lds<33>(out);
  half_active<64><<<1, kLanes>>>(reinterpret_cast<int*>(out));
  half_active<32><<<1, kLanes>>>(reinterpret_cast<int*>(out));
  constexpr int most_pages = 33;
  int* zeros;
  if (hipMalloc(&zeros, static_cast<size_t>(most_pages) << 21) != hipSuccess) return 1;
  for (int count : {most_pages, 31, 32, 33}) pages<<<1, 1>>>(zeros, reinterpret_cast<int*>(out), count);
  std::printf("in %p out %p\n", static_cast<void*>(in), static_cast<void*>(out));
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
