// One workgroup per compute unit at a time, whose first wave follows a chain of links. Some workgroups also do something useless:
// a matrix product, and a barrier at which their other waves wait. Prints microseconds: without it, with it in the first third
// of the workgroups, in the last third, and in all.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kGroups = 304 * 18, kThreads = 256, kLinks = 1 << 14;

__global__ void follow(const int* next, const int* in, int* out, int begin, int end) {
  __shared__ int room[9000];
  const bool useless = static_cast<int>(blockIdx.x) >= begin && static_cast<int>(blockIdx.x) < end;
  const int x = in[blockIdx.x * kThreads + threadIdx.x];
  if (begin > end) room[threadIdx.x * begin % 9000] = x;
  if (threadIdx.x >= 64) {
    if (useless) {
      typedef float Vector __attribute__((ext_vector_type(4)));
      const Vector c = __builtin_amdgcn_mfma_f32_16x16x4f32(static_cast<float>(x), 1.0f, Vector{}, 0, 0, 0);
      asm volatile("" ::"v"(c));
      __builtin_amdgcn_s_barrier();
    }
    return;
  }
  int p = threadIdx.x;
  for (int i = 0; i < 12; ++i) p = next[p];
  out[blockIdx.x * 64 + threadIdx.x] = p + (begin > end ? room[threadIdx.x] : 0);
  if (useless) __builtin_amdgcn_s_barrier();
}

int main() {
  std::vector<int> links(kLinks);
  unsigned random = 1;
  for (int& link : links) link = (random = random * 1664525u + 1013904223u) >> 8 & (kLinks - 1);
  int *next, *in, *out;
  hipEvent_t begin, end;
  if (hipMalloc(&next, kLinks * 4) || hipMalloc(&in, kGroups * kThreads * 4) || hipMalloc(&out, kGroups * 64 * 4)) return 1;
  if (hipMemcpy(next, links.data(), kLinks * 4, hipMemcpyHostToDevice) || hipMemset(in, 0, kGroups * kThreads * 4)) return 1;
  if (hipEventCreate(&begin) || hipEventCreate(&end)) return 1;
  const int ranges[][2] = {{0, 0}, {0, 0}, {0, kGroups / 3}, {kGroups / 3 * 2, kGroups}, {0, kGroups}};
  for (const auto& [first, last] : ranges) {
    float milliseconds;
    if (hipEventRecord(begin)) return 1;
    follow<<<kGroups, kThreads>>>(next, in, out, first, last);
    if (hipEventRecord(end) || hipEventSynchronize(end) || hipEventElapsedTime(&milliseconds, begin, end)) return 1;
    std::printf("%.3f\n", milliseconds * 1e3);
  }
}
