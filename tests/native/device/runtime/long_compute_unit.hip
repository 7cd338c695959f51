// Forty workgroups for each compute unit of one XCD, with more instructions than the timing model records, and none on the other
// XCDs. Some of them execute twice as many. Prints microseconds: without such ones, with the first quarter of them, with the last
// quarter, and with all.
#include <hip/hip_runtime.h>

#include <cstdio>

constexpr int kXcds = 8, kUnits = 38, kGroups = 40, kSteps = 3500;

__global__ void compute(float* out, int begin, int end) {
  const int group = blockIdx.x / (kXcds * kUnits);
  if (blockIdx.x % kXcds != 0) return;
  const int steps = group >= begin && group < end ? 2 * kSteps : kSteps;
  float x = threadIdx.x;
  for (int i = 0; i < steps; ++i)
    asm volatile("v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n"
                 "v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0" : "+v"(x));
  out[blockIdx.x / kXcds * blockDim.x + threadIdx.x] = x;
}

int main() {
  float* out;
  hipEvent_t begin, end;
  if (hipMalloc(&out, kUnits * kGroups * 256 * sizeof(float)) || hipEventCreate(&begin) || hipEventCreate(&end)) return 1;
  const int ranges[][2] = {{0, 0}, {0, 10}, {30, 40}, {0, 40}};
  for (const auto& [first, last] : ranges) {
    float milliseconds;
    if (hipEventRecord(begin)) return 1;
    compute<<<kXcds * kUnits * kGroups, 256>>>(out, first, last);
    if (hipEventRecord(end) || hipEventSynchronize(end) || hipEventElapsedTime(&milliseconds, begin, end)) return 1;
    std::printf("%.3f\n", milliseconds * 1e3);
  }
}
