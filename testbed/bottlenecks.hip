// bottlenecks: five kernels, each built to be limited by one resource and by nothing else.
//
//   bottlenecks [--kernel NAME] [--groups N]      defaults: --kernel all --groups 608 (two waves on each SIMD of an MI300X)
//
// streams     copies 16 bytes per lane; neighbouring lanes access neighbouring addresses. Expected: memory-bandwidth-bound.
// multiplies  eight independent chains of fused multiply-adds and no memory. Expected: compute-throughput-limited.
// chases      every wave follows a list through 1 MiB, which fits the L2, one load after the other. Expected: latency-bound.
// hoards      64 KiB of LDS for each wave, so that a CU holds only one wave, which waits for its loads. Expected:
//             under-occupied.
// diverges    eight paths of integer arithmetic, with an eighth of the lanes on each. Expected: divergence-limited.
//
// The CPU computes the same with the same operations: results must be bit-identical.
#include "check.h"

#include <cmath>

constexpr int kThreads = 256;
constexpr int kWave = 64;

using Line = uint32_t __attribute__((ext_vector_type(4)));

// ---- streams ----

constexpr int kLinesPerThread = 24;

__global__ __launch_bounds__(kThreads) void streams(const Line* from, Line* to, uint32_t key) {
  const size_t stride = static_cast<size_t>(gridDim.x) * kThreads;
  const size_t first = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kLinesPerThread; ++i) to[first + i * stride] = from[first + i * stride] ^ key;
}

static void check_streams(int groups) {
  std::vector<uint32_t> in(static_cast<size_t>(groups) * kThreads * kLinesPerThread * 4);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i) * 2654435761u;
  uint32_t* from = check::device_copy_of(in);
  uint32_t* to = check::device_array<uint32_t>(in.size());
  streams<<<groups, kThreads>>>(reinterpret_cast<const Line*>(from), reinterpret_cast<Line*>(to), 0x5a5a5a5au);
  LAUNCH_OK();
  const std::vector<uint32_t> out = check::host_copy_of(to, in.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (out[i] != (in[i] ^ 0x5a5a5a5au)) check::fail("streams: word %zu is %u", i, out[i]);
  check::pass("streams %d groups", groups);
  HIP_OK(hipFree(from));
  HIP_OK(hipFree(to));
}

// ---- multiplies ----

constexpr int kChains = 8;
constexpr int kMultiplies = 640;  // per chain

__host__ __device__ inline float chains(float start) {
  float x[kChains];
  for (int c = 0; c < kChains; ++c) x[c] = start + static_cast<float>(c);
  for (int i = 0; i < kMultiplies; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = fmaf(x[c], 0.75f, start);
  }
  float sum = 0;
  for (int c = 0; c < kChains; ++c) sum += x[c];
  return sum;
}

__global__ __launch_bounds__(kThreads) void multiplies(float* out) {
  out[static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x] = chains(static_cast<float>(threadIdx.x));
}

static void check_multiplies(int groups) {
  const size_t lanes = static_cast<size_t>(groups) * kThreads;
  float* device = check::device_array<float>(lanes);
  multiplies<<<groups, kThreads>>>(device);
  LAUNCH_OK();
  const std::vector<float> out = check::host_copy_of(device, lanes);
  std::vector<float> expected(kThreads);
  for (int i = 0; i < kThreads; ++i) expected[i] = chains(static_cast<float>(i));
  for (size_t i = 0; i < lanes; ++i)
    if (out[i] != expected[i % kThreads]) check::fail("multiplies: lane %zu is %.9g, not %.9g", i, out[i], expected[i % kThreads]);
  check::pass("multiplies %d groups", groups);
  HIP_OK(hipFree(device));
}

// ---- chases ----

constexpr uint32_t kSlots = 8192, kWords = 32;  // 1 MiB in slots of 128 bytes
constexpr int kHops = 192;

// A list whose order no prefetcher can guess: a full-period linear congruential sequence.
__host__ __device__ inline uint32_t next_slot(uint32_t slot) { return (slot * 4093u + 1237u) % kSlots; }

__global__ __launch_bounds__(kThreads) void chases(const uint32_t* list, const uint32_t* starts, uint32_t* ends) {
  const size_t lane = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  uint32_t slot = starts[lane];
  for (int hop = 0; hop < kHops; ++hop) slot = list[slot * kWords];
  ends[lane] = slot;
}

static void check_chases(int groups) {
  std::vector<uint32_t> list(kSlots * kWords), starts(static_cast<size_t>(groups) * kThreads);
  for (uint32_t slot = 0; slot < kSlots; ++slot) list[slot * kWords] = next_slot(slot);
  for (size_t lane = 0; lane < starts.size(); ++lane) starts[lane] = check::noise(lane / kWave) % kSlots;  // one per wave
  uint32_t* device_list = check::device_copy_of(list);
  uint32_t* device_starts = check::device_copy_of(starts);
  uint32_t* ends = check::device_array<uint32_t>(starts.size());
  chases<<<groups, kThreads>>>(device_list, device_starts, ends);
  LAUNCH_OK();
  const std::vector<uint32_t> out = check::host_copy_of(ends, starts.size());
  for (size_t wave = 0; wave < starts.size(); wave += kWave) {
    uint32_t slot = starts[wave];
    for (int hop = 0; hop < kHops; ++hop) slot = next_slot(slot);
    for (size_t lane = wave; lane < wave + kWave; ++lane)
      if (out[lane] != slot) check::fail("chases: lane %zu ends in %u, not %u", lane, out[lane], slot);
  }
  check::pass("chases %d groups", groups);
  HIP_OK(hipFree(device_list));
  HIP_OK(hipFree(device_starts));
  HIP_OK(hipFree(ends));
}

// ---- hoards ----

constexpr int kTiles = 12, kHoardedWords = 16384;  // 64 KiB

__global__ __launch_bounds__(kWave) void hoards(const uint32_t* from, uint32_t* to) {
  extern __shared__ uint32_t hoard[];
  const uint32_t* mine = from + static_cast<size_t>(blockIdx.x) * kTiles * kWave;
  uint32_t sum = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    // Far apart, so that all of the LDS is actually needed.
    hoard[(tile * 1365 + threadIdx.x * 17) % kHoardedWords] = mine[tile * kWave + threadIdx.x];
    __syncthreads();
    sum += hoard[(tile * 1365 + (kWave - 1 - threadIdx.x) * 17) % kHoardedWords];
    __syncthreads();
  }
  to[static_cast<size_t>(blockIdx.x) * kWave + threadIdx.x] = sum;
}

static void check_hoards(int groups) {
  const size_t waves = static_cast<size_t>(groups) * kThreads / kWave;
  std::vector<uint32_t> in(waves * kTiles * kWave);
  for (size_t i = 0; i < in.size(); ++i) in[i] = check::noise(i);
  uint32_t* from = check::device_copy_of(in);
  uint32_t* to = check::device_array<uint32_t>(waves * kWave);
  hoards<<<waves, kWave, kHoardedWords * sizeof(uint32_t)>>>(from, to);
  LAUNCH_OK();
  const std::vector<uint32_t> out = check::host_copy_of(to, waves * kWave);
  for (size_t lane = 0; lane < out.size(); ++lane) {
    uint32_t sum = 0;
    for (int tile = 0; tile < kTiles; ++tile) sum += in[(lane / kWave * kTiles + tile) * kWave + (kWave - 1 - lane % kWave)];
    if (out[lane] != sum) check::fail("hoards: lane %zu is %u, not %u", lane, out[lane], sum);
  }
  check::pass("hoards %zu groups", waves);
  HIP_OK(hipFree(from));
  HIP_OK(hipFree(to));
}

// ---- diverges ----

constexpr int kPaths = 8, kRounds = 96;

template <int kPath>
__host__ __device__ inline uint32_t path(uint32_t x) {
  for (int round = 0; round < kRounds; ++round) {
    x ^= x << (kPath + 3);
    x ^= x >> (kPath + 9);
    x += 0x9e3779b9u * (kPath + 1);
  }
  return x;
}

__host__ __device__ inline uint32_t on_its_path(uint32_t lane, uint32_t x) {
  switch (lane % kPaths) {
    case 0: return path<0>(x);
    case 1: return path<1>(x);
    case 2: return path<2>(x);
    case 3: return path<3>(x);
    case 4: return path<4>(x);
    case 5: return path<5>(x);
    case 6: return path<6>(x);
    default: return path<7>(x);
  }
}

__global__ __launch_bounds__(kThreads) void diverges(uint32_t* out) {
  const size_t lane = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  out[lane] = on_its_path(threadIdx.x, static_cast<uint32_t>(lane));
}

static void check_diverges(int groups) {
  const size_t lanes = static_cast<size_t>(groups) * kThreads;
  uint32_t* device = check::device_array<uint32_t>(lanes);
  diverges<<<groups, kThreads>>>(device);
  LAUNCH_OK();
  const std::vector<uint32_t> out = check::host_copy_of(device, lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    const uint32_t expected = on_its_path(lane % kThreads, static_cast<uint32_t>(lane));
    if (out[lane] != expected) check::fail("diverges: lane %zu is %u, not %u", lane, out[lane], expected);
  }
  check::pass("diverges %d groups", groups);
  HIP_OK(hipFree(device));
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "bottlenecks [--kernel streams|multiplies|chases|hoards|diverges|all] [--groups N]");
  const std::string chosen = options.text("--kernel", "all");
  const int groups = options.number("--groups", 608, 1, 65536);
  options.finish();
  const struct {
    const char* name;
    void (*check)(int);
  } kernels[] = {{"streams", check_streams}, {"multiplies", check_multiplies}, {"chases", check_chases},
                 {"hoards", check_hoards},   {"diverges", check_diverges}};
  bool any = false;
  for (const auto& kernel : kernels) {
    if (chosen != "all" && chosen != kernel.name) continue;
    kernel.check(groups);
    any = true;
  }
  if (!any) options.wrong("--kernel", "must be streams, multiplies, chases, hoards, diverges or all");
}
