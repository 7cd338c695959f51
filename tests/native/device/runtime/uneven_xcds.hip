// A kernel that has more work on each further XCD. Prints its microseconds.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void uneven(float* out) {
  float x = threadIdx.x;
  for (unsigned i = 0; i < 50 * (1 + blockIdx.x % 8); ++i) x = __builtin_sqrtf(x) + i;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

int main() {
  constexpr int kGroups = 608, kThreads = 128;
  float* out;
  float milliseconds;
  hipEvent_t begin, end;
  if (hipMalloc(&out, sizeof(float) * kGroups * kThreads) || hipEventCreate(&begin) || hipEventCreate(&end)) return 1;
  for (int i = 0; i < 2; ++i) {
    if (hipEventRecord(begin)) return 1;
    uneven<<<kGroups, kThreads>>>(out);
    if (hipEventRecord(end) || hipEventSynchronize(end)) return 1;
  }
  if (hipEventElapsedTime(&milliseconds, begin, end)) return 1;
  std::printf("%.3f\n", milliseconds * 1e3);
}
