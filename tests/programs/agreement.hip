// Launches COUNT kernels whose work, grid and accesses are drawn from SEED, for what their times and counters must agree on.
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <random>

struct Work {
  unsigned rounds, stride, words, multiplies, stores;
  bool scattered, exchange, diverge;
};

__global__ void drawn(float* data, float* out, Work work) {
  extern __shared__ float shared[];
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = thread * work.stride % work.words;
  float value = threadIdx.x;
  for (unsigned round = 0; round < work.rounds; ++round) {
    value += data[at];
    at = (work.scattered ? at * 1664525u + 1013904223u : at + gridDim.x * blockDim.x * work.stride) % work.words;
    if (!work.diverge || threadIdx.x % 3 == round % 3)
      for (unsigned i = 0; i < work.multiplies; ++i) value = value * 1.0001f + 0.5f;
    if (work.exchange) {
      shared[threadIdx.x] = value;
      __syncthreads();
      value += shared[(threadIdx.x * 7 + 64) % blockDim.x];
      __syncthreads();
    }
    if (round < work.stores) out[(thread + round * 4099) % work.words] = value;
  }
  out[thread % work.words] = value;
}

int main(int, char** arguments) {
  const int count = std::atoi(arguments[1]);
  std::mt19937 random(std::atoi(arguments[2]));
  const auto from = [&](unsigned low, unsigned high) -> unsigned { return low + random() % (high - low + 1); };
  constexpr unsigned kMost = 1 << 22;
  float *data, *out;
  if (hipMalloc(&data, kMost * 4) != hipSuccess || hipMalloc(&out, kMost * 4) != hipSuccess) return 1;
  if (hipMemset(data, 0, kMost * 4) != hipSuccess) return 1;
  for (int i = 0; i < count; ++i) {
    const Work work{from(1, 8), from(1, 40),     1u << from(10, 22), from(0, 24),
                    from(0, 3), from(0, 1) == 1, from(0, 2) == 0,    from(0, 3) == 0};
    const unsigned block = 64 * from(1, 16), grid = from(1, 4) == 1 ? from(1, 8) : from(1, 120);
    drawn<<<grid, block, work.exchange ? block * 4 : 0>>>(data, out, work);
  }
  return hipDeviceSynchronize() != hipSuccess;
}
