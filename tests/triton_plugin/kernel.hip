// Kernels with the types of Triton's arguments, for the launcher's test.
#include <hip/hip_runtime.h>

extern "C" __global__ void arguments(double* out, _Float16 half, __bf16 brain, float single, double full, signed char i8, short i16,
                                     int i32, long i64, unsigned char u8, bool yes, const float* null, long* scratch) {
  out[0] = half;
  out[1] = float(brain);
  out[2] = single;
  out[3] = full;
  out[4] = i8;
  out[5] = i16;
  out[6] = i32;
  out[7] = i64;
  out[8] = u8;
  out[9] = yes;
  out[10] = null == nullptr;
  out[11] = scratch == nullptr ? 0 : *scratch = 7;
}

extern "C" __global__ void add(float* out, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
