// Three kernels that use different units, for what the power limit makes of their clocks.
#include <hip/hip_runtime.h>

typedef float Pair __attribute__((ext_vector_type(2)));
typedef float Tile __attribute__((ext_vector_type(16)));
typedef _Float16 Halves __attribute__((ext_vector_type(4)));

constexpr int CUS = 304, ROUNDS = 200;

__global__ void vector(Pair* out) {
  Pair sums[8], factor = {1.0001f, 0.999f};
  for (int i = 0; i < 8; ++i) sums[i] = threadIdx.x + i;
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 8; ++i) sums[i] = sums[i] * factor + factor;
  for (int i = 1; i < 8; ++i) sums[0] += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sums[0];
}

__global__ void matrix(Tile* out) {
  Tile sums[4] = {};
  Halves a = {1, 2, 3, 4}, b = {4, 3, 2, 1};
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 4; ++i) sums[i] = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums[i], 0, 0, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

__global__ void memory(const float4* from, float4* to) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

__global__ void alone(int* out) {
  for (int round = 0; round < 1000; ++round) out[0] += round;
}

int main() {
  constexpr size_t bytes = 32 << 20;
  void *from, *to;
  if (hipMalloc(&from, bytes) != hipSuccess || hipMalloc(&to, bytes) != hipSuccess) return 1;
  vector<<<CUS, 256>>>(static_cast<Pair*>(to));
  matrix<<<CUS, 256>>>(static_cast<Tile*>(to));
  memory<<<bytes / 16 / 256, 256>>>(static_cast<const float4*>(from), static_cast<float4*>(to));
  alone<<<1, 64>>>(static_cast<int*>(to));
  return hipDeviceSynchronize() != hipSuccess;
}
