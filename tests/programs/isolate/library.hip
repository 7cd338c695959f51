// Kernels for a library (launch_mix), and for modules, which are compiled for the device only: unchanged, or different from
// when they were captured.
#include <hip/hip_runtime.h>

#ifndef FACTOR
#define FACTOR 17
#endif
#ifndef HALF
#define HALF 0.5f
#endif
#ifndef FORGED_VALUE
#define FORGED_VALUE 0
#endif
#ifndef BOUNDS
#define BOUNDS 1024
#endif
#ifdef MORE_ARGUMENTS
#define ARGUMENTS unsigned *values, int count, int more
#else
#define ARGUMENTS unsigned *values, int count
#endif

// A kernel can find its completion signal through its packet: FORGED_VALUE ends the wait, unless the waiting side knows
// better; the forged time is one nanosecond.
static __device__ void forge() {
  typedef const char __attribute__((address_space(4)))* Packet;
  volatile long* const signal = *(volatile long* const __attribute__((address_space(4)))*)((Packet)__builtin_amdgcn_dispatch_ptr() + 56);
  if (threadIdx.x == 0) signal[4] = 1000, signal[5] = 1001, signal[1] = FORGED_VALUE;
}

extern "C" __global__ void __launch_bounds__(BOUNDS) mix(ARGUMENTS) {
#ifdef LDS_BYTES
  __shared__ unsigned char shared[LDS_BYTES];
  shared[threadIdx.x] = threadIdx.x;
  __syncthreads();
  values += shared[threadIdx.x ^ 1] == 255;
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = (values[i] ^ 0x5bd1e995u) * FACTOR + i;
#ifdef FORGES
  forge();
#endif
}

extern "C" __global__ void halve(float* to, const float* from, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] * HALF;
}

#ifdef WITH_LAUNCHER
extern "C" void launch_mix(unsigned* values, int count) { mix<<<(count + 127) / 128, 128>>>(values, count); }
#endif
