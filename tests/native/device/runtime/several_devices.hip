// What kernels on two devices do to each other. Usage: several_devices SCENARIO. Prints what came of it.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int kThreads = 256, kCount = 1 << 16;

__global__ void add(unsigned* out, const unsigned* in, unsigned more) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i] + more;
}

// Wait for `turn`, then hand it on.
__global__ void take_turns(unsigned* shared, unsigned me, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    while (__hip_atomic_load(shared, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != 2 * round + me) {
    }
    shared[1] += me + 1;
    __hip_atomic_store(shared, 2 * round + me + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

void expect(hipError_t status, const char* what) {
  if (status != hipSuccess) std::printf("%s: %s\n", what, hipGetErrorName(status));
}
#define EXPECT(call) expect(call, #call)

unsigned* memory_on(int device, size_t bytes = kCount * sizeof(unsigned)) {
  unsigned* memory = nullptr;
  EXPECT(hipSetDevice(device));
  EXPECT(hipMalloc(&memory, bytes));
  EXPECT(hipMemset(memory, 0, bytes));
  EXPECT(hipDeviceSynchronize());
  return memory;
}

void allow_peers() {
  for (int device : {0, 1}) {
    EXPECT(hipSetDevice(device));
    EXPECT(hipDeviceEnablePeerAccess(1 - device, 0));
  }
}

unsigned wrong_in(const unsigned* memory, unsigned value) {
  std::vector<unsigned> host(kCount);
  EXPECT(hipMemcpy(host.data(), memory, kCount * sizeof(unsigned), hipMemcpyDefault));
  unsigned wrong = 0;
  for (const unsigned got : host) wrong += got != value;
  return wrong;
}

void launch(int device, hipStream_t stream, unsigned* out, const unsigned* in, unsigned more) {
  EXPECT(hipSetDevice(device));
  add<<<kCount / kThreads, kThreads, 0, stream>>>(out, in, more);
}

// Without hipDeviceEnablePeerAccess.
void no_access() {
  unsigned* const there = memory_on(1);
  unsigned* const here = memory_on(0);
  launch(0, nullptr, here, there, 1);
  std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
}

void waits(bool memory_of_first) {
  allow_peers();
  unsigned* const shared = memory_on(memory_of_first ? 0 : 1, 2 * sizeof(unsigned));
  constexpr unsigned kRounds = 20;
  for (unsigned device : {0u, 1u}) {
    EXPECT(hipSetDevice(static_cast<int>(device)));
    take_turns<<<1, 1>>>(shared, device, kRounds);
  }
  for (int device : {0, 1}) {
    EXPECT(hipSetDevice(device));
    EXPECT(hipDeviceSynchronize());
  }
  unsigned result[2];
  EXPECT(hipMemcpy(result, shared, sizeof result, hipMemcpyDeviceToHost));
  std::printf("turns %u sum %u\n", result[0], result[1]);
}

// On both devices, for a turn that nobody hands on.
void wait_forever() {
  allow_peers();
  unsigned* const shared = memory_on(0, 2 * sizeof(unsigned));
  for (unsigned device : {0u, 1u}) {
    EXPECT(hipSetDevice(static_cast<int>(device)));
    take_turns<<<1, 1>>>(shared, device + 1, 1);
  }
  for (int device : {0, 1}) {
    EXPECT(hipSetDevice(device));
    std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  }
}

// A chain of kernels that alternates between the devices, ordered by events; then their host memory and managed memory.
void events_and_host_memory() {
  allow_peers();
  hipStream_t streams[2];
  hipEvent_t done[2];
  unsigned* memory[2];
  for (int device : {0, 1}) {
    memory[device] = memory_on(device);
    EXPECT(hipStreamCreate(&streams[device]));
    EXPECT(hipEventCreate(&done[device]));
  }
  for (int step = 0; step < 6; ++step) {
    const int device = step % 2, other = 1 - device;
    EXPECT(hipSetDevice(device));
    if (step > 0) EXPECT(hipStreamWaitEvent(streams[device], done[other], 0));
    launch(device, streams[device], memory[device], memory[other], 1);
    EXPECT(hipEventRecord(done[device], streams[device]));
  }
  EXPECT(hipStreamSynchronize(streams[1]));
  std::printf("chain wrong %u\n", wrong_in(memory[1], 6));

  unsigned *pinned, *managed;
  EXPECT(hipHostMalloc(&pinned, kCount * sizeof(unsigned), hipHostMallocPortable));
  EXPECT(hipMallocManaged(&managed, kCount * sizeof(unsigned)));
  std::memset(pinned, 0, kCount * sizeof(unsigned));
  for (int device : {0, 1}) {
    launch(device, nullptr, managed, pinned, static_cast<unsigned>(device) + 5);
    EXPECT(hipDeviceSynchronize());
    launch(device, nullptr, pinned, managed, 0);
    EXPECT(hipDeviceSynchronize());
  }
  std::printf("host wrong %u\n", wrong_in(pinned, 11));
}

// Rectangles, and memory from each device's pool.
void rectangles_and_pools() {
  constexpr size_t kPitch = 512, kWidth = 100, kRows = 64;
  unsigned* const source = memory_on(1);
  EXPECT(hipMemset(source, 7, kPitch * kRows));
  unsigned* const target = memory_on(0);
  EXPECT(hipMemcpy2D(target, kPitch, source, kPitch, kWidth, kRows, hipMemcpyDefault));
  std::vector<unsigned char> host(kPitch * kRows);
  EXPECT(hipMemcpy(host.data(), target, host.size(), hipMemcpyDefault));
  unsigned wrong = 0;
  for (size_t i = 0; i < host.size(); ++i) wrong += host[i] != (i % kPitch < kWidth ? 7 : 0);
  std::printf("rectangle wrong %u\n", wrong);
  for (int device : {0, 1}) {
    unsigned* pooled;
    EXPECT(hipSetDevice(device));
    EXPECT(hipMallocAsync(&pooled, kCount * sizeof(unsigned), nullptr));
    EXPECT(hipMemsetAsync(pooled, 0, kCount * sizeof(unsigned), nullptr));
    launch(device, nullptr, pooled, pooled, 3);
    EXPECT(hipDeviceSynchronize());
    std::printf("pool wrong %u\n", wrong_in(pooled, 3));
    EXPECT(hipFreeAsync(pooled, nullptr));
  }
}

// A copy by a copy engine, which HIP uses as long as the device has no access to its peer: microseconds.
void engine_copy() {
  constexpr size_t kBytes = 8 << 20;
  unsigned* const target = memory_on(1, kBytes);
  unsigned* const source = memory_on(0, kBytes);
  hipEvent_t begin, end;
  EXPECT(hipEventCreate(&begin));
  EXPECT(hipEventCreate(&end));
  EXPECT(hipEventRecord(begin));
  EXPECT(hipMemcpyPeerAsync(target, 1, source, 0, kBytes, nullptr));
  EXPECT(hipEventRecord(end));
  EXPECT(hipEventSynchronize(end));
  float ms = 0;
  EXPECT(hipEventElapsedTime(&ms, begin, end));
  std::printf("%.3f\n", ms * 1000);
}

void links() {
  uint32_t type = 0, hops = 0;
  EXPECT(hipExtGetLinkTypeAndHopCount(0, 1, &type, &hops));
  int rank = -1, access = 0, atomics = 0;
  EXPECT(hipDeviceGetP2PAttribute(&rank, hipDevP2PAttrPerformanceRank, 0, 1));
  EXPECT(hipDeviceGetP2PAttribute(&access, hipDevP2PAttrAccessSupported, 0, 1));
  EXPECT(hipDeviceGetP2PAttribute(&atomics, hipDevP2PAttrNativeAtomicSupported, 0, 1));
  std::printf("type %u hops %u access %d atomics %d\n", type, hops, access, atomics);
}

// Reads all of the peer's memory once, at what rate? And the same within the device.
void rate() {
  allow_peers();
  constexpr size_t kBytes = 32 << 20;
  unsigned* const own = memory_on(0, kBytes);
  unsigned* const peer = memory_on(1, kBytes);
  unsigned* const out = memory_on(0, kBytes);
  hipEvent_t begin, end;
  EXPECT(hipSetDevice(0));
  EXPECT(hipEventCreate(&begin));
  EXPECT(hipEventCreate(&end));
  float ms = 0;
  for (const unsigned* from : {own, peer}) {
    EXPECT(hipEventRecord(begin));
    add<<<kBytes / sizeof(unsigned) / kThreads, kThreads>>>(out, from, 0);
    EXPECT(hipEventRecord(end));
    EXPECT(hipEventSynchronize(end));
    EXPECT(hipEventElapsedTime(&ms, begin, end));
    std::printf("%.3f\n", static_cast<double>(kBytes) / (ms * 1e6));
  }
}

}  // namespace

int main(int, char** argv) {
  const char* scenario = argv[1];
  if (!std::strcmp(scenario, "no_access")) no_access();
  else if (!std::strcmp(scenario, "waits_near")) waits(true);
  else if (!std::strcmp(scenario, "waits_far")) waits(false);
  else if (!std::strcmp(scenario, "wait_forever")) wait_forever();
  else if (!std::strcmp(scenario, "host_memory")) events_and_host_memory();
  else if (!std::strcmp(scenario, "rectangles")) rectangles_and_pools();
  else if (!std::strcmp(scenario, "engine_copy")) engine_copy();
  else if (!std::strcmp(scenario, "links")) links();
  else if (!std::strcmp(scenario, "rate")) rate();
  else return 1;
}
