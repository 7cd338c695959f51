// Kernels of every kind that a trace must describe correctly, on two streams and the null stream.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                             \
  if (const hipError_t error = (call); error != hipSuccess) {                   \
    std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));          \
    std::exit(1);                                                               \
  }

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// C linkage: no C++ name to demangle.
extern "C" __global__ void fill_ones(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 1.0f;
}

namespace tiles {
template <typename T, int Size>
__global__ void transpose(const T* in, T* out, int width) {
  __shared__ T tile[Size][Size + 1];
  const int x = blockIdx.x * Size + threadIdx.x, y = blockIdx.y * Size + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  out[(blockIdx.x * Size + threadIdx.y) * width + blockIdx.y * Size + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
}  // namespace tiles

// Many registers, and (indexed at run time) scratch memory.
__global__ void spills(const float* in, float* out, int n) {
  float held[96];
  for (int i = 0; i < 96; ++i) held[i] = in[i * 64 + threadIdx.x] * (n + i);
  float sum = 0;
  for (int i = 0; i < 96; ++i) sum += held[(i * n) % 96] * held[i];
  out[threadIdx.x] = sum;
}

// The matrix unit, whose results may live in accumulation registers. Compiled, never launched.
typedef float float16 __attribute__((ext_vector_type(16)));
__global__ __launch_bounds__(256, 1) void matrix(const float* a, const float* b, float16* out, int n) {
  float16 sums[20] = {};
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 20; ++i)
      sums[i] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[k * 64 + threadIdx.x], b[(k + i) * 64 + threadIdx.x], sums[i], 0, 0, 0);
  for (int i = 0; i < 20; ++i) out[i * 256 + threadIdx.x] = sums[i];
}

int main() {
  constexpr int n = 64 * 1024, width = 256;
  hipStream_t first, second;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  float *x, *y;
  CHECK(hipMalloc(&x, n * sizeof(float)));
  CHECK(hipMalloc(&y, n * sizeof(float)));
  std::vector<float> host(n, 2.0f);
  CHECK(hipMemcpy(y, host.data(), n * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipDeviceSynchronize());
  fill_ones<<<n / 256, 256>>>(x, n);
  CHECK(hipDeviceSynchronize());
  saxpy<<<n / 128, 128, 0, first>>>(3.0f, x, y, n);
  CHECK(hipStreamSynchronize(first));
  tiles::transpose<float, 16><<<dim3(width / 16, width / 16), dim3(16, 16), 0, second>>>(y, x, width);
  CHECK(hipStreamSynchronize(second));
  spills<<<1, 64>>>(y, x, 7);
  CHECK(hipMemcpy(host.data(), y, n * sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipFree(x));
  CHECK(hipFree(y));
  std::printf("%g\n", host[n - 1]);
  return host[n - 1] == 5.0f ? 0 : 1;
}
