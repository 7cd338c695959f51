// Kernels that go through a loop of independent iterations in few workgroups. Results are the same bit for bit.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__device__ float mixed(float x, int i) { return x * 1.25f + i; }

__global__ void planes(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  const float* column = in + x;
  float* target = out + x;
  for (int z = 0; z < depth; ++z) {
    const float value = column[z * width];
    target[z * width] = mixed(value, z);
  }
}

__global__ void steps(const float* __restrict__ in, float* __restrict__ out, unsigned n, unsigned stride) {
  for (unsigned i = blockIdx.x * 32 + threadIdx.x; i < n; i += stride) {
    float sum = 0;
    for (int k = 0; k < 3; ++k) sum += in[(i + k) % n];
    out[i] = sum;
    if (i % 2) out[i] += 1.0f;
  }
}

__global__ void bricks(const float* __restrict__ in, float* __restrict__ out, int n) {
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= n || y >= n) return;
  const int first = blockIdx.z * 8;
  for (int z = first; z < min(n, first + 8); z += 1) out[(z * n + y) * n + x] = in[(z * n + x) * n + y] + z;
}

// ---- these stay as they are ----

__global__ void summed(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  float sum = 0;
  for (int z = 0; z < depth; ++z) out[z * width + x] = sum += in[z * width + x];
}

__global__ void carried(float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int z = 1; z < depth; ++z) out[z * width + x] = out[(z - 1) * width + x] + 1;
}

__global__ void same_place(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int z = 0; z < depth; ++z) out[x] = in[z * width + x];
}

__global__ void stores_before(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  out[x] = 1;
  for (int z = 1; z < depth; ++z) out[z * width + x] = in[z * width + x];
}

__global__ void leaves(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int z = 0; z < depth; ++z) {
    if (in[z * width + x] < 0) break;
    out[z * width + x] = 1;
  }
}

__global__ void in_place(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int z = 1; z < depth; ++z) out[z * width + x] = in[(z - 1) * width + x];
}

__global__ void together(const float* in, float* out, int width, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int z = 0; z < depth; ++z) {
    __syncthreads();
    out[z * width + x] = in[z * width + x];
  }
}

static float* uploaded(const std::vector<float>& values) {
  float* there = nullptr;
  if (hipMalloc(&there, values.size() * 4) || hipMemcpy(there, values.data(), values.size() * 4, hipMemcpyHostToDevice))
    std::printf("out of memory\n");
  return there;
}

static void print(const char* name, int a, int b, const float* there, int count) {
  std::vector<float> values(count);
  if (hipMemcpy(values.data(), there, count * 4, hipMemcpyDeviceToHost)) std::printf("the copy failed\n");
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += (i % 31 + 1) * double(values[i]);
  std::printf("%s %d %d: %.17g\n", name, a, b, sum);
}

static void all(const int width, const int depth) {
  const int count = (width + 64) * depth + 64;
  std::vector<float> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = float(i * 37 % 1013);
  float *in = uploaded(numbers), *out = uploaded(numbers);
  const dim3 grid((width + 63) / 64);
  planes<<<grid, 64>>>(in, out, width, depth);
  print("planes", width, depth, out, count);
  summed<<<grid, 64>>>(in, out, width, depth);
  carried<<<grid, 64>>>(out, width, depth);
  same_place<<<grid, 64>>>(in, out, width, depth);
  stores_before<<<grid, 64>>>(in, out, width, depth);
  leaves<<<grid, 64>>>(in, out, width, depth);
  in_place<<<grid, 64>>>(out, out, width, depth);
  together<<<grid, 64>>>(in, out, width, depth);
}

int main() {
  for (const int width : {1, 70, 128})
    for (const int depth : {1, 7, 33}) all(width, depth);
  for (const int n : {1, 7, 20, 33}) {
    std::vector<float> numbers(n * n * n);
    for (int i = 0; i < n * n * n; ++i) numbers[i] = float(i * 37 % 1013);
    float *in = uploaded(numbers), *out = uploaded(std::vector<float>(n * n * n));
    const int edge = (n + 7) / 8;
    bricks<<<dim3(edge, edge, edge), dim3(8, 8)>>>(in, out, n);
    print("bricks", n, n, out, n * n * n);
    const int size = n * n * n, groups = 2;
    steps<<<groups, 32>>>(in, out, size, groups * 32);
    print("steps", n, n, out, size);
  }
}
