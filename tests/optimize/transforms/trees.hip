// Reductions by a tree in LDS. The order of the additions counts: sums of floating-point numbers have to keep their bits.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

template <class T, int N>
__global__ void total(const T* in, T* out, int n) {
  __shared__ T part[N];
  const int thread = threadIdx.x;
  T sum = 0;
  for (int i = blockIdx.x * N + thread; i < n; i += gridDim.x * N) sum += in[i];
  part[thread] = sum;
  __syncthreads();
  for (int half = N / 2; half > 0; half /= 2) {
    if (thread < half) part[thread] += part[thread + half];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

__global__ void highest(const float* in, float* out, int n) {
  __shared__ float found[256];
  found[threadIdx.x] = threadIdx.x < n ? in[blockIdx.x * blockDim.x + threadIdx.x] : -1e30f;
  __syncthreads();
  for (unsigned s = blockDim.x >> 1; s >= 1; s >>= 1) {
    if (threadIdx.x < s) {
      found[threadIdx.x] = fmaxf(found[threadIdx.x], found[threadIdx.x + s]) * 1.0001f;
    }
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = found[0];
}

// ---- these stay as they are ----

__global__ void all_used(const float* in, float* out) {
  __shared__ float part[64];
  part[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  out[threadIdx.x] = part[threadIdx.x];
}

__global__ void neighbours(const float* in, float* out) {
  __shared__ float part[64];
  part[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + 1];
    __syncthreads();
  }
  out[0] = part[0];
}

__global__ void other_thread(const float* in, float* out) {
  __shared__ float part[64];
  const int thread = 63 - threadIdx.x;
  part[thread] = in[thread];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (thread < half) part[thread] += part[thread + half];
    __syncthreads();
  }
  out[0] = part[0];
}

static float* uploaded(const std::vector<float>& values) {
  float* there = nullptr;
  if (hipMalloc(&there, values.size() * 4) || hipMemcpy(there, values.data(), values.size() * 4, hipMemcpyHostToDevice))
    std::printf("out of memory\n");
  return there;
}

static void print(const char* name, int n, const float* there, int count) {
  std::vector<float> values(count);
  if (hipMemcpy(values.data(), there, count * 4, hipMemcpyDeviceToHost)) std::printf("the copy failed\n");
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += (i % 31 + 1) * double(values[i]);
  std::printf("%s %d: %.17g\n", name, n, sum);
}

// trees [ELEMENTS]: one size instead of several.
int main(int argc, char** argv) {
  const std::vector<int> several = {1, 50, 300, 1111};
  for (const int n : argc > 1 ? std::vector<int>{std::atoi(argv[1])} : several) {
    std::vector<float> numbers(n + 512);
    for (int i = 0; i < n + 512; ++i) numbers[i] = float(i * 37 % 1013) / 7;
    float *in = uploaded(numbers), *out = uploaded(std::vector<float>(n + 512));
    const int groups = (n + 255) / 256;
    total<float, 256><<<groups, 256>>>(in, out, n), print("total 256", n, out, groups);
    total<float, 32><<<groups, 32>>>(in, out, n), print("total 32", n, out, groups);
    total<float, 1><<<1, 1>>>(in, out, n), print("total 1", n, out, 1);
    for (const int threads : {1, 16, 64, 128, 256}) highest<<<1, threads>>>(in, out, n), print("highest", threads, out, threads);
    all_used<<<1, 64>>>(in, out), neighbours<<<1, 64>>>(in, out), other_thread<<<1, 64>>>(in, out);
  }
}
