// Workgroups that communicate through memory: sums and tickets in order of arrival, messages from one workgroup to another,
// grids that synchronise. Prints checksums of the kernels' results in memory, byte for byte.
//   workgroups order|mailbox|grid BLOCKS|vector
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorName(error));
  std::fflush(stdout);
  std::_Exit(2);
}

constexpr int kThreads = 256, kBlocks = 512, kCells = 64;

// Rounding makes the sum depend on the order.
__global__ void float_sums(float* sums) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  atomicAdd(&sums[i % kCells], 1.0f / static_cast<float>(i + 1) * (i % 7 ? 1.0f : 1e6f));
}

__global__ void tickets(unsigned* next, unsigned* drawn) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (threadIdx.x % 64 == 0) drawn[i / 64] = atomicAdd(next, 1u);
}

__device__ __attribute__((noinline)) unsigned draw(unsigned* next) { return atomicAdd(next, 2u); }
__global__ void tickets_by_call(unsigned* next, unsigned* drawn) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (threadIdx.x % 64 == 0) drawn[i / 64] = draw(next);
}

// Any order gives the same result: these run on all host threads.
__global__ void integer_sums(unsigned* sums) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  atomicAdd(&sums[i % kCells], i * i);
}
__device__ __attribute__((noinline)) unsigned mixed(unsigned i) {
  for (int k = 0; k < 3; ++k) i = i * 1664525u + 1013904223u;
  return i;
}
__global__ void calls_without_atomics(unsigned* out) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = mixed(i);
}

// Each workgroup waits for the next one, which is on the device at the same time but starts later.
__global__ void mailbox(unsigned* flags, unsigned* out) {
  const unsigned me = blockIdx.x, last = gridDim.x - 1;
  if (threadIdx.x) return;
  unsigned received = 0;
  if (me != last)
    while (!(received = __hip_atomic_load(&flags[me + 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))) {}
  out[me] = received + 1;
  __hip_atomic_store(&flags[me], received + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

__global__ void rounds(unsigned* data, unsigned* out, unsigned n, int steps) {
  const auto grid = cooperative_groups::this_grid();
  const unsigned i = grid.thread_rank();
  for (int s = 0; s < steps; ++s) {
    const unsigned other = data[(i + 977) % n];
    grid.sync();
    data[i] = other * 3 + i;
    grid.sync();
  }
  out[i] = data[i];
}

typedef unsigned Vector __attribute__((ext_vector_type(16)));
// A vector indexed by a variable that differs from lane to lane, or by one that does not.
__global__ void vector_elements(const unsigned* in, unsigned* out, int uniform) {
  const unsigned i = threadIdx.x;
  Vector v;
  for (int k = 0; k < 16; ++k) v[k] = in[16 * i + k];
  v[uniform] += 1000;
  v[(i * 5) % 16] ^= 0xffff;
  out[2 * i] = v[(i * 3 + 1) % 16];
  out[2 * i + 1] = v[(uniform + 7) % 16];
}

template <class T>
struct Device {
  T* at = nullptr;
  size_t count;
  explicit Device(size_t n) : count(n) {
    check(hipMalloc(&at, n * sizeof(T)), "hipMalloc");
    check(hipMemset(at, 0, n * sizeof(T)), "hipMemset");
  }
  std::vector<T> host() const {
    std::vector<T> copy(count);
    check(hipMemcpy(copy.data(), at, count * sizeof(T), hipMemcpyDeviceToHost), "hipMemcpy");
    return copy;
  }
  void set(const std::vector<T>& from) { check(hipMemcpy(at, from.data(), count * sizeof(T), hipMemcpyHostToDevice), "hipMemcpy"); }
};

template <class T>
void print(const char* name, const Device<T>& memory) {
  const std::vector<T> values = memory.host();
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}

static void order() {
  Device<float> sums(kCells);
  Device<unsigned> next(1), drawn(kBlocks * kThreads / 64), by_call(kBlocks * kThreads / 64), integers(kCells), mix(kBlocks * kThreads);
  float_sums<<<kBlocks, kThreads>>>(sums.at);
  tickets<<<kBlocks, kThreads>>>(next.at, drawn.at);
  tickets_by_call<<<kBlocks, kThreads>>>(next.at, by_call.at);
  integer_sums<<<kBlocks, kThreads>>>(integers.at);
  calls_without_atomics<<<kBlocks, kThreads>>>(mix.at);
  check(hipDeviceSynchronize(), "kernels");
  print("float_sums", sums);
  print("tickets", drawn);
  print("tickets_by_call", by_call);
  print("integer_sums", integers);
  print("calls", mix);
}

static void pass_messages() {
  constexpr unsigned blocks = 600;
  Device<unsigned> flags(blocks), out(blocks);
  mailbox<<<blocks, 64>>>(flags.at, out.at);
  check(hipDeviceSynchronize(), "mailbox");
  const auto got = out.host();
  for (unsigned i = 0; i < blocks; ++i)
    if (got[i] != blocks - i) std::printf("FAIL workgroup %u has %u\n", i, got[i]), std::exit(1);
  std::printf("PASS\n");
}

static void synchronise(int blocks) {
  unsigned n = blocks * kThreads;
  int steps = 3, cooperative = 0;
  check(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0), "hipDeviceGetAttribute");
  int fit = 0;
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&fit, rounds, kThreads, 0), "occupancy");
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, 0), "properties");
  std::printf("cooperative %d fits %d\n", cooperative, fit * properties.multiProcessorCount);
  std::vector<unsigned> want(n);
  for (unsigned i = 0; i < n; ++i) want[i] = i * 7;
  Device<unsigned> data(n), out(n);
  data.set(want);
  void* arguments[] = {&data.at, &out.at, &n, &steps};
  check(hipLaunchCooperativeKernel(reinterpret_cast<void*>(rounds), dim3(blocks), dim3(kThreads), arguments, 0, nullptr), "launch");
  check(hipDeviceSynchronize(), "rounds");
  for (int s = 0; s < steps; ++s) {
    const auto before = want;
    for (unsigned i = 0; i < n; ++i) want[i] = before[(i + 977) % n] * 3 + i;
  }
  std::printf("%s\n", out.host() == want ? "PASS" : "FAIL");
  if (out.host() != want) std::exit(1);
}

static void index_vectors() {
  Device<unsigned> in(16 * 64), out(2 * 64);
  std::vector<unsigned> values(16 * 64), want(2 * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned>(i * 2654435761u);
  in.set(values);
  for (int uniform = 0; uniform < 16; uniform += 5) {
    for (unsigned i = 0; i < 64; ++i) {
      std::vector<unsigned> v(values.begin() + 16 * i, values.begin() + 16 * i + 16);
      v[uniform] += 1000;
      v[(i * 5) % 16] ^= 0xffff;
      want[2 * i] = v[(i * 3 + 1) % 16];
      want[2 * i + 1] = v[(uniform + 7) % 16];
    }
    vector_elements<<<1, 64>>>(in.at, out.at, uniform);
    check(hipDeviceSynchronize(), "vector_elements");
    if (out.host() != want) std::printf("FAIL %d\n", uniform), std::exit(1);
  }
  std::printf("PASS\n");
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  if (!std::strcmp(what, "order")) order();
  else if (!std::strcmp(what, "mailbox")) pass_messages();
  else if (!std::strcmp(what, "grid") && count > 2) synchronise(std::atoi(arguments[2]));
  else if (!std::strcmp(what, "vector")) index_vectors();
  else return 64;
}
