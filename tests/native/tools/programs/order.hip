// Kernels whose order is known: each can be identified by its grid (10, 20, ... work-items).
//   stream a: 10 -> 20 (event) -> 40;   stream b: 30, then, after the event, 50;   then, both streams waited for, null: 60
#include <hip/hip_runtime.h>

#include <cstdlib>

#define CHECK(call) \
  if ((call) != hipSuccess) std::exit(1)

__global__ void step(int* counter, int by) {
  if (threadIdx.x == 0) *counter += by;
}

int main() {
  hipStream_t a, b;
  hipEvent_t event;
  int* counters;
  CHECK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  CHECK(hipEventCreate(&event));
  CHECK(hipMalloc(&counters, 2 * sizeof *counters));
  step<<<1, 10, 0, a>>>(counters, 1);
  step<<<1, 30, 0, b>>>(counters + 1, 1);
  step<<<1, 20, 0, a>>>(counters, 1);
  CHECK(hipEventRecord(event, a));
  CHECK(hipStreamWaitEvent(b, event, 0));
  step<<<1, 40, 0, a>>>(counters, 1);
  step<<<1, 50, 0, b>>>(counters + 1, 1);
  CHECK(hipStreamSynchronize(a));
  CHECK(hipStreamSynchronize(b));
  step<<<1, 60>>>(counters, 1);
  CHECK(hipDeviceSynchronize());
  return 0;
}
