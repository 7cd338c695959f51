// Histograms and lists: kernels whose atomics or stores come one after the other. All sums are of whole numbers.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int kThreads = 128;

__global__ void by_byte(const uint8_t* bytes, uint32_t* counts, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&counts[bytes[i]], 1u);
}

__global__ void by_pointer(const uint8_t* bytes, uint32_t* counts, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&counts[bytes[i]], 1u);
}

__global__ void by_number(const int* numbers, int* counts, int* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bin = numbers[i] / 3;
  if (bin % 7 == 0)
    atomicAdd(&counts[bin], i);
  else
    atomicAdd(&counts[bin + 1], 1);
  if (i % 5 == 0) {
    atomicAdd(&total[0], 2);
  }
}

__global__ void weighed(const int* numbers, const float* weights, float* sums, int n) {
  for (int i = threadIdx.x; i < n; i += 128) {
    atomicAdd(&sums[numbers[i]], weights[i]);
  }
}

__global__ void in_lds(const uint8_t* bytes, uint32_t* counts, int n) {
  __shared__ uint32_t local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&local[bytes[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], local[i]);
}

// ---- these stay as they are ----

__global__ void uses_result(const int* numbers, int* counts, int* places, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) places[i] = atomicAdd(&counts[numbers[i]], 1);
}

__global__ void reads_counts(const int* numbers, int* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && counts[numbers[i]] < 9) atomicAdd(&counts[numbers[i]], 1);
}

__global__ void ends_inside(const int* numbers, int* counts, int n) {
  for (int i = threadIdx.x; i < n; ++i) {
    if (numbers[i] < 0) return;
    atomicAdd(&counts[numbers[i]], 1);
  }
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
static void print(const char* name, int n, const T* there, int count) {
  std::vector<T> values(count);
  if (hipMemcpy(values.data(), there, count * sizeof(T), hipMemcpyDeviceToHost)) std::printf("the copy failed\n");
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += (i % 31 + 1) * double(values[i]);
  std::printf("%s %d: %.17g\n", name, n, sum);
}

// counts [ELEMENTS [BYTE]]: one size instead of several, with the same byte everywhere.
int main(int argc, char** argv) {
  const std::vector<int> several = {1, 100, 257, 5000};
  for (const int n : argc > 1 ? std::vector<int>{std::atoi(argv[1])} : several) {
    std::vector<uint8_t> bytes(n);
    std::vector<int> numbers(n);
    std::vector<float> weights(n);
    for (int i = 0, seed = 1; i < n; ++i)
      seed = seed * 1664525 + 1013904223, bytes[i] = argc > 2 ? std::atoi(argv[2]) : seed >> 24, numbers[i] = (seed >> 16) & 4095, weights[i] = i % 5 - 1;
    const int *there = uploaded(numbers), groups = (n + kThreads * 16 - 1) / (kThreads * 16);
    const uint8_t* byte = uploaded(bytes);
    auto counts = [] { return uploaded(std::vector<int>(5000)); };
    uint32_t* first = uploaded(std::vector<uint32_t>(256));
    by_byte<<<groups, kThreads>>>(byte, first, n);
    print("by_byte", n, first, 256);
    uint32_t* again = uploaded(std::vector<uint32_t>(256));
    const auto kernel = by_pointer;
    kernel<<<groups, kThreads>>>(byte, again, n);
    print("by_pointer", n, again, 256);
    int *second = counts(), *total = counts();
    by_number<<<(n + kThreads - 1) / kThreads, kThreads>>>(there, second, total, n);
    print("by_number", n, second, 5000), print("by_number", n, total, 5000);
    float* third = uploaded(std::vector<float>(5000));
    weighed<<<1, 128>>>(there, uploaded(weights), third, n);
    print("weighed", n, third, 5000);
    uint32_t* fourth = uploaded(std::vector<uint32_t>(256));
    in_lds<<<groups, kThreads>>>(byte, fourth, n);
    print("in_lds", n, fourth, 256);
    uses_result<<<1, 64>>>(there, counts(), counts(), n);
    reads_counts<<<1, 64>>>(there, counts(), n);
    ends_inside<<<1, 1>>>(there, counts(), n);
  }
}
