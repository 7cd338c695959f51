// Kernels over the rows of a matrix, one thread per row. Their sums are of small whole numbers, and so the same in any order.
// Arguments: none, for all kernels at twelve sizes, or KERNEL ROWS COLUMNS.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void normalized(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* x = in + row * cols;
  float highest = x[0];
  for (int i = 1; i < cols; ++i) highest = fmaxf(highest, x[i]);
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) {
    sum += highest - x[i];
  }
  sum += 1;
  for (int i = 0; i < cols; i++) out[row * cols + i] = x[i] / sum;
}

__global__ void product(const float* in, const float* vector, float* out, int cols, int rows) {
  int r = threadIdx.x + blockIdx.x * blockDim.x;
  if (r >= rows) {
    return;
  }
  float total = 0;
  for (int i = 0; i < cols; ++i) total += in[r * cols + i] * vector[i];
  out[r] = total;
}

__global__ void least(const int* in, int* out, unsigned rows, int cols) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int lowest = in[row * cols], count = 0;
  for (int i = 0; i < cols; ++i) {
    lowest = min(lowest, in[row * cols + i]);
    count += in[row * cols + i] & 1;
  }
  out[2 * row] = lowest;
  out[2 * row + 1] = count;
}

__device__ int between(int a, int b) { return a < b ? b - a : a - b; }

__global__ void nearest(const int* in, int* out, int* farthest, int rows, int cols) {
  size_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    int closest = 1 << 30;
    for (int i = 0; i < cols; i++) {
      int distance = between(in[row * cols + i] & 4095, in[i] & 4095);
      distance += i & 3;
      closest = std::min(distance, closest);
    }
    out[row] = closest;
    atomicMax(farthest, closest);
  }
}

// A NaN replaces what was found before it: which number is found depends on where the last NaN is.
__global__ void closest(const float* in, float* out, int rows, int cols, float scale) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float found = 1e30f;
  for (int i = 0; i < cols; ++i) {
    const float distance = in[row * cols + i] == 7 && row % 3 ? 0 * (scale / 0.0f) : in[row * cols + i] + i;
    found = std::min(distance, found);
  }
  out[row] = found == found ? found : -5;
}

__global__ void sparse(const float* in, const float* vector, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float total = 0;
  int others = 0;
  for (int i = 0; i < cols; ++i) {
    const float x = in[row * cols + i];
    if (x > 0) {
      total += x * vector[i];
      if (x != 7) others += 1;
    }
  }
  out[2 * row] = total;
  out[2 * row + 1] = others;
}

// ---- these stay as they are ----

__global__ void up_to(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < cols; ++i) {
    if (sum < 100) sum += in[row * cols + i];
  }
  out[row] = sum;
}

__global__ void counting(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  int seen = 0;
  for (int i = 0; i < cols; ++i) {
    if (++seen % 3) sum += in[row * cols + i];
  }
  out[row] = sum;
}

__global__ void in_turns(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  int at = row * cols;
  for (int i = 0; i < cols; ++i) sum += in[at++];
  out[row] = sum;
}

__global__ void until(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < cols; ++i) {
    if (in[row * cols + i] == 7) break;
    sum += in[row * cols + i];
  }
  out[row] = sum;
}

__global__ void from_one(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 1;
  for (int i = 0; i < cols; ++i) sum += in[row * cols + i];
  out[row] = sum;
}

__global__ void in_order(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float running = 0;
  for (int i = 0; i < cols; ++i) running = running * 0.5f + in[row * cols + i];
  out[row] = running;
}

__global__ void at_once(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float found = 1e30f;
  for (int i = 0; i < cols; ++i) found = std::max(in[row * cols + i], found);
  out[row] = found;
}

__global__ void prefix(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < cols; ++i) {
    sum += in[row * cols + i];
    out[row * cols + i] = sum;
  }
}

__global__ void neighbours(float* x, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int i = 1; i < cols; ++i) x[row * cols + i] = x[row * cols + i - 1] + 1;
}

__global__ void by_place(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < cols; ++i) sum += in[row * cols + i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void of_half(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < cols; ++i) sum += in[row * cols + i];
  out[row] = sum;
}

__global__ void beyond(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0;
    for (int i = 0; i < cols; ++i) sum += in[row * cols + i];
    out[row] = sum;
  }
  out[0] = 1;
}

template <class T>
static T* uploaded(const std::vector<T>& values) {
  T* there = nullptr;
  if (hipMalloc(&there, values.size() * sizeof(T)) ||
      hipMemcpy(there, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice))
    std::printf("out of memory\n");
  return there;
}

template <class T>
static void print(const char* name, const T* there, int count) {
  std::vector<T> values(count);
  if (hipMemcpy(values.data(), there, count * sizeof(T), hipMemcpyDeviceToHost)) std::printf("the copy failed\n");
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += (i % 31 + 1) * double(values[i]);
  std::printf("%s %d: %.17g\n", name, count, sum);
}

// only: the kernel to launch; nullptr for all of them.
static void all(const int rows, const int cols, const char* only) {
  const auto wanted = [only](const char* name) { return !only || !std::strcmp(only, name); };
  std::vector<float> numbers(rows * cols), ones(cols);
  std::vector<int> whole(rows * cols);
  for (int i = 0, seed = 1; i < rows * cols; ++i)
    seed = seed * 1664525 + 1013904223, whole[i] = seed >> 20, numbers[i] = float(seed >> 26);
  for (int i = 0; i < cols; ++i) ones[i] = float(i % 5 - 2);
  float *in = uploaded(numbers), *vector = uploaded(ones), *out = uploaded(std::vector<float>(2 * rows * cols + 64, -1.0f));
  int *integers = uploaded(whole), *found = uploaded(std::vector<int>(2 * rows + 64, -1));
  if (wanted("normalized")) {
    normalized<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
    print("normalized", out, 2 * rows * cols + 64);
  }
  const dim3 grid((rows + 127) / 128), block(128);
  if (wanted("product")) {
    product<<<grid, block, 0, nullptr>>>(in, vector, out, cols, rows);
    print("product", out, 2 * rows * cols + 64);
  }
  if (wanted("least")) {
    least<<<(rows + 63) / 64, 64>>>(integers, found, rows, cols);
    print("least", found, 2 * rows + 64);
  }
  int* farthest = uploaded(std::vector<int>(1));
  if (wanted("nearest")) {
    nearest<<<(rows + 63) / 64, 64>>>(integers, found, farthest, rows, cols);
    print("nearest", found, 2 * rows + 64), print("nearest", farthest, 1);
  }
  if (wanted("closest")) {
    closest<<<(rows + 63) / 64, 64>>>(in, out, rows, cols, 1.5f);
    print("closest", out, 2 * rows * cols + 64);
  }
  if (wanted("sparse")) {
    sparse<<<(rows + 63) / 64, 64>>>(in, vector, out, rows, cols);
    print("sparse", out, 2 * rows * cols + 64);
  }
  if (only) return;
  up_to<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  counting<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  in_turns<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  until<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  beyond<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  from_one<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  at_once<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  in_order<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  prefix<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  neighbours<<<(rows + 63) / 64, 64>>>(out, rows, cols);
  by_place<<<(rows + 63) / 64, 64>>>(in, out, rows, cols);
  of_half<<<(rows / 2 + 63) / 64, 64>>>(in, out, rows / 2, cols);
}

int main(int argc, char** argv) {
  if (argc == 4) return all(std::atoi(argv[2]), std::atoi(argv[3]), argv[1]), 0;
  for (const int rows : {1, 5, 130})
    for (const int cols : {1, 63, 64, 150}) all(rows, cols, nullptr);
}
