// histogram: counts the occurrences of each byte value with atomics.
//
//   histogram [-n bytes] [--skew PERCENT] [--kernel global|lds|both] [--repeats N]
//                                                                     defaults: -n 1048576, 0, both, 1
//
// --skew is the percentage of bytes that have one particular value (0: all values equally frequent, 100: one value only).
//
// histogram_global  one global atomic add per byte on 256 counters: all of the device's atomics target the same 1 KiB
//                   (eight lines of L2). Expected: bound by atomics, and slower the more skewed the data is.
// histogram_lds     a separate histogram in each workgroup's LDS, added to the global one at the end: 256 global
//                   atomics per workgroup. Expected: many times fewer global atomics, and faster; LDS bank conflicts and
//                   same-address atomics in LDS grow with the skew.
//
// Counts are integers, so the results do not depend on the order of the atomics. The CPU's counts must be equal.
#include "check.h"

constexpr int kValues = 256;
constexpr int kThreads = 256;
constexpr int kBytesPerThread = 16;
constexpr uint8_t kFrequent = 42;

__global__ __launch_bounds__(kThreads) void histogram_global(const uint8_t* bytes, uint32_t* counts, int n) {
  const int stride = gridDim.x * kThreads;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += stride) atomicAdd(&counts[bytes[i]], 1u);
}

__global__ __launch_bounds__(kThreads) void histogram_lds(const uint8_t* bytes, uint32_t* counts, int n) {
  __shared__ uint32_t local[kValues];
  local[threadIdx.x] = 0;
  __syncthreads();
  const int stride = gridDim.x * kThreads;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += stride) atomicAdd(&local[bytes[i]], 1u);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
static_assert(kThreads == kValues, "each thread of histogram_lds clears and adds one counter");

static std::vector<uint8_t> input(int n, int skew) {
  std::vector<uint8_t> bytes(n);
  for (int i = 0; i < n; ++i) {
    const uint32_t noise = check::noise(i);
    bytes[i] = (noise >> 8) % 100 < static_cast<uint32_t>(skew) ? kFrequent : static_cast<uint8_t>(noise);
  }
  return bytes;
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "histogram [-n bytes] [--skew PERCENT] [--kernel global|lds|both] [--repeats N]");
  const int n = options.number("-n", 1048576, 1, 1 << 30);
  const int skew = options.number("--skew", 0, 0, 100);
  const int repeats = options.number("--repeats", 1, 1, 1000);
  const std::string kernel = options.text("--kernel", "both");
  if (kernel != "global" && kernel != "lds" && kernel != "both") options.wrong("--kernel", "is global, lds or both");
  options.finish();

  const std::vector<uint8_t> bytes = input(n, skew);
  std::vector<uint32_t> want(kValues, 0);
  for (const uint8_t byte : bytes) want[byte] += repeats;
  uint8_t* device_bytes = check::device_copy_of(bytes);
  uint32_t* counts = check::device_array<uint32_t>(kValues);
  const int groups = (n + kThreads * kBytesPerThread - 1) / (kThreads * kBytesPerThread);

  const auto run = [&](const char* name, auto kernel_function) {
    HIP_OK(hipMemset(counts, 0, kValues * sizeof(uint32_t)));
    for (int i = 0; i < repeats; ++i) kernel_function<<<groups, kThreads>>>(device_bytes, counts, n);
    LAUNCH_OK();
    HIP_OK(hipDeviceSynchronize());
    const std::vector<uint32_t> got = check::host_copy_of(counts, kValues);
    for (int value = 0; value < kValues; ++value)
      if (got[value] != want[value]) check::fail("%s: %u bytes of value %d, not %u", name, got[value], value, want[value]);
    check::pass("%s n=%d skew=%d checksum=%016llx", name, n, skew,
                static_cast<unsigned long long>(check::checksum(got.data(), kValues * sizeof(uint32_t))));
  };
  if (kernel != "lds") run("histogram_global", histogram_global);
  if (kernel != "global") run("histogram_lds", histogram_lds);

  HIP_OK(hipFree(device_bytes));
  HIP_OK(hipFree(counts));
  return 0;
}
