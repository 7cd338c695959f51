// Times two kernels by events, one of which waits for its clock to reach a later time, and prints "SHORT LONG" in microseconds.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void wait_for(long long cycles, int* done) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  if (threadIdx.x == 0) done[blockIdx.x] = 1;
}

static float microseconds(long long cycles, int groups, int* done) {
  hipEvent_t begin, end;
  float elapsed = -1;
  if (hipEventCreate(&begin) != hipSuccess || hipEventCreate(&end) != hipSuccess) return -1;
  if (hipEventRecord(begin) != hipSuccess) return -1;
  wait_for<<<groups, 64>>>(cycles, done);
  if (hipEventRecord(end) != hipSuccess || hipEventSynchronize(end) != hipSuccess) return -1;
  return hipEventElapsedTime(&elapsed, begin, end) == hipSuccess ? 1000 * elapsed : -1;
}

int main() {
  int* done = nullptr;
  constexpr int groups = 40;
  if (hipMalloc(&done, groups * sizeof(int)) != hipSuccess || hipMemset(done, 0, groups * sizeof(int)) != hipSuccess) return 1;
  const float first = microseconds(0, 1, done);
  const float little = microseconds(0, 1, done), much = microseconds(100000, groups, done);
  int ended[groups];
  if (hipMemcpy(ended, done, sizeof ended, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (const int one : ended)
    if (one != 1) return 2;
  std::printf("%.3f %.3f\n", little, much);
  return first < 0 || little < 0 || much < 0;
}
