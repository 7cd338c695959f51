// reduction: the sum of an array of int or float, by a tree in LDS or by shuffles.
//
//   reduction [-n elements] [--kernel lds|shuffle|both] [--type int|float|both] [--repeats N]
//                                                                     defaults: -n 1048576, both, both, 1
//
// Two launches of the same kernel: the first leaves one sum per workgroup, the second adds these up. Every thread first
// adds its elements with a grid stride, then the workgroup combines the sums. The order is fixed by n, so that the float
// result has the same bits in every run, and no atomics are used.
//
// reduce_lds      a tree over 256 LDS words, eight barriers; each step idles half of the remaining lanes.
// reduce_shuffle  butterflies inside each wave (ds_bpermute or DPP, no barrier), then four wave sums through LDS.
// Expected: both read 4 bytes per element once (operational intensity 0.25 ops/byte): at large n, both are bound by memory
// and equally fast; at small n the barriers of reduce_lds show, so that shuffle is faster. The second launch is pure
// launch overhead and latency: one workgroup.
//
// The CPU reference adds in exactly the same order: results must be bit-identical.
#include "check.h"

#include <type_traits>

constexpr int kThreads = 256;
constexpr int kWave = 64;
constexpr int kMaximumGroups = 304;

template <typename T>
__global__ __launch_bounds__(kThreads) void reduce_lds(const T* in, T* sums, int n) {
  __shared__ T partial[kThreads];
  const int thread = threadIdx.x;
  T own = 0;
  for (int i = blockIdx.x * kThreads + thread; i < n; i += gridDim.x * kThreads) own += in[i];
  partial[thread] = own;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = partial[0];
}

template <typename T>
__global__ __launch_bounds__(kThreads) void reduce_shuffle(const T* in, T* sums, int n) {
  __shared__ T waves[kThreads / kWave];
  T sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) sum += in[i];
  for (int distance = kWave / 2; distance > 0; distance /= 2) sum += __shfl_down(sum, distance);
  if (threadIdx.x % kWave == 0) waves[threadIdx.x / kWave] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int wave = 1; wave < kThreads / kWave; ++wave) sum += waves[wave];
    sums[blockIdx.x] = sum;
  }
}

// The same additions in the same order on the CPU.
template <typename T>
T tree(const T* values, int count) {
  std::vector<T> partial(values, values + count);
  for (int half = count / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) partial[i] += partial[i + half];
  return partial[0];
}

template <typename T>
T group_sum(const std::vector<T>& own, bool shuffles) {
  if (!shuffles) return tree(own.data(), kThreads);
  T sum = tree(own.data(), kWave);
  for (int wave = 1; wave < kThreads / kWave; ++wave) sum += tree(own.data() + wave * kWave, kWave);
  return sum;
}

template <typename T>
std::vector<T> reference(const std::vector<T>& in, int groups, bool shuffles) {
  std::vector<T> sums(groups);
  for (int group = 0; group < groups; ++group) {
    std::vector<T> own(kThreads, T(0));
    for (int thread = 0; thread < kThreads; ++thread)
      for (size_t i = static_cast<size_t>(group) * kThreads + thread; i < in.size(); i += static_cast<size_t>(groups) * kThreads)
        own[thread] += in[i];
    sums[group] = group_sum(own, shuffles);
  }
  return sums;
}

template <typename T>
void run(const char* name, int n, bool shuffles, int repeats) {
  std::vector<T> in(n);
  for (int i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) in[i] = static_cast<T>(check::noise(i) >> 16) - 0x8000;
    else in[i] = static_cast<T>(check::noise(i) * 0x1p-31 - 1.0);  // [-1, 1)
  }
  const int needed = (n + kThreads - 1) / kThreads;
  const int groups = needed < kMaximumGroups ? needed : kMaximumGroups;
  const T want = reference(reference(in, groups, shuffles), 1, shuffles)[0];

  T* device_in = check::device_copy_of(in);
  T* sums = check::device_array<T>(groups);
  T* total = check::device_array<T>(1);
  HIP_OK(hipMemset(total, 0xff, sizeof(T)));
  const auto kernel = shuffles ? reduce_shuffle<T> : reduce_lds<T>;
  for (int i = 0; i < repeats; ++i) {
    kernel<<<groups, kThreads>>>(device_in, sums, n);
    kernel<<<1, kThreads>>>(sums, total, groups);
  }
  LAUNCH_OK();
  HIP_OK(hipDeviceSynchronize());
  const T got = check::host_copy_of(total, 1)[0];
  if (!(got == want)) check::fail("%s: the sum is %.9g, not %.9g", name, static_cast<double>(got), static_cast<double>(want));
  for (T* array : {device_in, sums, total}) HIP_OK(hipFree(array));
  check::pass("%s n=%d sum=%.9g checksum=%016llx", name, n, static_cast<double>(got),
              static_cast<unsigned long long>(check::checksum(&got, sizeof got)));
}

int main(int argc, char** argv) {
  check::Options options(argc, argv,
                         "reduction [-n elements] [--kernel lds|shuffle|both] [--type int|float|both] [--repeats N]");
  const int n = options.number("-n", 1048576, 1, 1 << 28);
  const int repeats = options.number("--repeats", 1, 1, 1000000);
  const std::string kernel = options.text("--kernel", "both"), type = options.text("--type", "both");
  if (kernel != "lds" && kernel != "shuffle" && kernel != "both") options.wrong("--kernel", "is lds, shuffle or both");
  if (type != "int" && type != "float" && type != "both") options.wrong("--type", "is int, float or both");
  options.finish();

  for (const bool shuffles : {false, true}) {
    if (kernel == (shuffles ? "lds" : "shuffle")) continue;
    if (type != "float") run<int>(shuffles ? "reduce_shuffle<int>" : "reduce_lds<int>", n, shuffles, repeats);
    if (type != "int") run<float>(shuffles ? "reduce_shuffle<float>" : "reduce_lds<float>", n, shuffles, repeats);
  }
  return 0;
}
