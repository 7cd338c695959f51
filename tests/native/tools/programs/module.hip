// A code object for launches.hip to load by itself.
#include <hip/hip_runtime.h>

extern "C" __global__ void from_module(int* value) {
  if (threadIdx.x == 0) *value += 1;
}
