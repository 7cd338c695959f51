// The time that events show around a kernel that does nothing, in microseconds.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void empty() {}

int main() {
  hipEvent_t start, stop;
  float milliseconds = 0;
  if (hipEventCreate(&start) != hipSuccess || hipEventCreate(&stop) != hipSuccess) return 1;
  for (int i = 0; i < 2; i++) {
    (void)hipEventRecord(start);
    empty<<<1, 64>>>();
    (void)hipEventRecord(stop);
    if (hipEventSynchronize(stop) != hipSuccess) return 1;
    (void)hipEventElapsedTime(&milliseconds, start, stop);
  }
  std::printf("%.4f\n", milliseconds * 1000);
}
