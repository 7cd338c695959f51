// What compilers do differently for gfx90a, gfx942, gfx950 and gfx1030: private memory, grid barriers, atomics, matrix products. Prints
// the GPU's target and "right", or what is wrong.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

constexpr int kGroups = 64, kThreads = 256, kItems = kGroups * kThreads, kRounds = 3;

void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(error));
  std::exit(1);
}

// An array in private memory whose address a function gets that calls itself.
__host__ __device__ __attribute__((noinline)) int descend(int depth, const int* above) {
  int own[8];
  for (int i = 0; i < 8; ++i) own[i] = above[i % 4] + depth * i;
  return depth <= 0 ? own[above[0] & 7] : own[depth * 3 & 7] + descend(depth - 1, own);
}
__host__ __device__ int of_private_memory(int item) {
  int local[16];
  for (int i = 0; i < 16; ++i) local[(i * 5 + item) & 15] = i + item;
  const int back = -(item & 7);  // gfx90a: a negative offset in a register, and a constant one in the instruction
  return descend(item % 5, local) + local[item & 15] + local[12 + back];
}
__global__ void private_memory(int* out) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  out[item] = of_private_memory(item);
}

__global__ void shift_and_scale(int* data) {
  auto grid = cooperative_groups::this_grid();
  const int item = grid.thread_rank();
  for (int round = 0; round < kRounds; ++round) {
    data[(item + 1) % kItems] += item + round;
    grid.sync();
    data[item] *= 3;
    grid.sync();
  }
}

__global__ void add_up(double* sum, float* single) {
  unsafeAtomicAdd(sum, 1.0);
  unsafeAtomicAdd(single, 0.5f);
}

using Halves = _Float16 __attribute__((ext_vector_type(4)));
using Sums = float __attribute__((ext_vector_type(4)));

// 16 x 16 x 16: A is k of the row, B 1, so that each row has the sum of its k.
__global__ void product([[maybe_unused]] float* out) {
#ifdef __GFX9__  // others have no such instruction
  const int row = threadIdx.x % 16, first = threadIdx.x / 16 * 4;
  Halves a, b;
  for (int i = 0; i < 4; ++i) a[i] = row + first + i, b[i] = 1;
  const Sums sums = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, Sums{}, 0, 0, 0);
  for (int i = 0; i < 4; ++i) out[(first + i) * 16 + row] = sums[i];
#endif
}

int wrong(const char* what) {
  std::printf("%s is wrong\n", what);
  return 1;
}

int main() {
  hipDeviceProp_t gpu;
  check(hipGetDeviceProperties(&gpu, 0));
  int* data;
  check(hipMalloc(&data, kItems * sizeof(int)));
  std::vector<int> got(kItems), expected(kItems);
  const auto fetch = [&] { check(hipMemcpy(got.data(), data, kItems * sizeof(int), hipMemcpyDeviceToHost)); };

  private_memory<<<kGroups, kThreads>>>(data);
  fetch();
  for (int item = 0; item < kItems; ++item)
    if (got[item] != of_private_memory(item)) return wrong("private memory");

  check(hipMemset(data, 0, kItems * sizeof(int)));
  void* arguments[] = {&data};
  check(hipLaunchCooperativeKernel(reinterpret_cast<void*>(shift_and_scale), kGroups, kThreads, arguments, 0, nullptr));
  fetch();
  for (int round = 0; round < kRounds; ++round) {
    for (int item = 0; item < kItems; ++item) expected[(item + 1) % kItems] += item + round;
    for (int& one : expected) one *= 3;
  }
  if (got != expected) return wrong("a grid barrier");

  double* sum;
  check(hipMalloc(&sum, 2 * sizeof(double)));
  check(hipMemset(sum, 0, 2 * sizeof(double)));
  add_up<<<kGroups, kThreads>>>(sum, reinterpret_cast<float*>(sum + 1));
  double sums[2];
  check(hipMemcpy(sums, sum, sizeof sums, hipMemcpyDeviceToHost));
  float single;
  std::memcpy(&single, sums + 1, sizeof single);
  if (sums[0] != kItems || single != kItems / 2) return wrong("an atomic");

  const bool has_products = std::strncmp(gpu.gcnArchName, "gfx9", 4) == 0;
  if (has_products) product<<<1, 64>>>(reinterpret_cast<float*>(data));
  std::vector<float> products(256);
  check(hipMemcpy(products.data(), data, 256 * sizeof(float), hipMemcpyDeviceToHost));
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column)
      if (has_products && products[row * 16 + column] != 16 * row + 120) return wrong("a matrix product");

  std::printf("%s, %d compute units: right\n", gpu.gcnArchName, gpu.multiProcessorCount);
}
