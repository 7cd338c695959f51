// Several devices: a ring of copies around all of them, and on each a kernel that reads and one that writes its neighbour's
// memory. Prints one line of JSON with the results and the times of the copies. Usage: ring [BYTES].
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                             \
  do {                                                                          \
    const hipError_t status = (call);                                           \
    if (status != hipSuccess) {                                                 \
      std::fprintf(stderr, "ring: %s: %s\n", #call, hipGetErrorString(status)); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

__global__ void fill(unsigned* data, unsigned count, unsigned seed) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = seed * 0x9e3779b9u + i;
}

__global__ void add_from_peer(unsigned* mine, const unsigned* of_peer, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) mine[i] += of_peer[i];
}

__global__ void count_in_peer(unsigned* of_peer) { atomicAdd_system(of_peer, 1u); }

__global__ void give_to_peer(unsigned* of_peer, const unsigned* mine, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) of_peer[i] = mine[i] ^ 0xffffffffu;
}

struct OnDevice {
  unsigned *own, *from_previous, *sum, *given, *counter;
  hipStream_t stream;
  hipEvent_t begin, end;
};

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1 << 20;
  const unsigned count = static_cast<unsigned>(bytes / sizeof(unsigned)), groups = (count + 255) / 256;
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "ring: %d device: a ring needs at least two\n", devices);
    return 2;
  }
  std::vector<OnDevice> all(devices);
  for (int d = 0; d < devices; ++d) {
    CHECK(hipSetDevice(d));
    for (int peer = 0; peer < devices; ++peer) {
      int can = 0, atomics = 0;
      CHECK(hipDeviceCanAccessPeer(&can, d, peer));
      if (peer == d) continue;
      CHECK(hipDeviceGetP2PAttribute(&atomics, hipDevP2PAttrNativeAtomicSupported, d, peer));
      if (!can) {
        std::fprintf(stderr, "ring: device %d cannot access device %d\n", d, peer);
        return 1;
      }
      CHECK(hipDeviceEnablePeerAccess(peer, 0));
    }
    OnDevice& on = all[d];
    CHECK(hipStreamCreate(&on.stream));
    CHECK(hipEventCreate(&on.begin));
    CHECK(hipEventCreate(&on.end));
    for (unsigned** memory : {&on.own, &on.from_previous, &on.sum, &on.given}) CHECK(hipMalloc(memory, bytes));
    CHECK(hipMalloc(&on.counter, sizeof(unsigned)));
    CHECK(hipMemset(on.counter, 0, sizeof(unsigned)));
    CHECK(hipDeviceSynchronize());
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(hipSetDevice(d));
    fill<<<groups, 256, 0, all[d].stream>>>(all[d].own, count, d + 1);
    fill<<<groups, 256, 0, all[d].stream>>>(all[d].sum, count, 100 + d);
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(hipSetDevice(d));
    CHECK(hipStreamSynchronize(all[d].stream));
  }
  // The ring: each device hands its data on to the next.
  std::vector<float> copy_ms(devices);
  for (int d = 0; d < devices; ++d) {
    const int next = (d + 1) % devices;
    CHECK(hipSetDevice(d));
    CHECK(hipEventRecord(all[d].begin, all[d].stream));
    CHECK(hipMemcpyPeerAsync(all[next].from_previous, next, all[d].own, d, bytes, all[d].stream));
    CHECK(hipEventRecord(all[d].end, all[d].stream));
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(hipSetDevice(d));
    CHECK(hipStreamSynchronize(all[d].stream));
    CHECK(hipEventElapsedTime(&copy_ms[d], all[d].begin, all[d].end));
  }
  // Kernels on all devices, each of which accesses the next device's memory.
  for (int d = 0; d < devices; ++d) {
    const OnDevice& on = all[d];
    const OnDevice& next = all[(d + 1) % devices];
    CHECK(hipSetDevice(d));
    add_from_peer<<<groups, 256, 0, on.stream>>>(on.sum, next.own, count);
    give_to_peer<<<groups, 256, 0, on.stream>>>(next.given, on.own, count);
    count_in_peer<<<4, 64, 0, on.stream>>>(all[0].counter);
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(hipSetDevice(d));
    CHECK(hipDeviceSynchronize());
  }
  // One more chain that crosses devices: the last sum, by a plain copy, to device 0 and back to the host.
  std::vector<unsigned> host(count);
  unsigned long long wrong = 0, digest = 0;
  const auto expect = [&](const unsigned* memory, auto value) {
    CHECK(hipMemcpy(host.data(), memory, bytes, hipMemcpyDefault));
    for (unsigned i = 0; i < count; ++i) {
      wrong += host[i] != value(i);
      digest = digest * 1099511628211ull + host[i];
    }
  };
  const auto filled = [](unsigned seed, unsigned i) { return seed * 0x9e3779b9u + i; };
  for (int d = 0; d < devices; ++d) {
    const unsigned previous = (d + devices - 1) % devices + 1, next = (d + 1) % devices + 1;
    expect(all[d].from_previous, [&](unsigned i) { return filled(previous, i); });
    expect(all[d].sum, [&](unsigned i) { return filled(100 + d, i) + filled(next, i); });
    expect(all[d].given, [&](unsigned i) { return ~filled(previous, i); });
  }
  CHECK(hipSetDevice(0));
  CHECK(hipMemcpy(all[0].own, all[devices - 1].sum, bytes, hipMemcpyDeviceToDevice));
  expect(all[0].own, [&](unsigned i) { return filled(99 + devices, i) + filled(1, i); });
  unsigned counted = 0;
  CHECK(hipMemcpy(&counted, all[0].counter, sizeof counted, hipMemcpyDeviceToHost));
  wrong += counted != 256u * devices;
  std::printf("{\"devices\": %d, \"wrong\": %llu, \"digest\": %llu, \"copy_us\": [", devices, wrong, digest);
  for (int d = 0; d < devices; ++d) std::printf("%s%.3f", d ? ", " : "", copy_ms[d] * 1000);
  std::printf("]}\n");
  for (int d = 0; d < devices; ++d) {
    OnDevice& on = all[d];
    CHECK(hipSetDevice(d));
    for (unsigned* memory : {on.own, on.from_previous, on.sum, on.given, on.counter}) CHECK(hipFree(memory));
    CHECK(hipEventDestroy(on.begin));
    CHECK(hipEventDestroy(on.end));
    CHECK(hipStreamDestroy(on.stream));
  }
  return wrong != 0;
}
