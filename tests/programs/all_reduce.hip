// RCCL's all-reduce over all devices of one process, results checked. Usage: all_reduce [COUNT].
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const auto status = (call);                                                      \
    if (status != 0) {                                                               \
      std::fprintf(stderr, "all_reduce: %s: %d\n", #call, static_cast<int>(status)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

float element(int device, size_t i) { return static_cast<float>((device + 1) * static_cast<int>(i % 1000)); }

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1 << 14;
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  std::vector<int> all(devices);
  std::iota(all.begin(), all.end(), 0);
  std::vector<ncclComm_t> communicators(devices);
  CHECK(ncclCommInitAll(communicators.data(), devices, all.data()));
  std::vector<float*> data(devices);
  std::vector<float> host(count);
  for (const int device : all) {
    CHECK(hipSetDevice(device));
    CHECK(hipMalloc(&data[device], count * sizeof(float)));
    for (size_t i = 0; i < count; ++i) host[i] = element(device, i);
    CHECK(hipMemcpy(data[device], host.data(), count * sizeof(float), hipMemcpyHostToDevice));
  }
  CHECK(ncclGroupStart());
  for (const int device : all)
    CHECK(ncclAllReduce(data[device], data[device], count, ncclFloat, ncclSum, communicators[device], nullptr));
  CHECK(ncclGroupEnd());
  size_t wrong = 0;
  for (const int device : all) {
    CHECK(hipSetDevice(device));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host.data(), data[device], count * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (const int other : all) sum += element(other, i);
      wrong += host[i] != sum;
    }
  }
  for (const ncclComm_t communicator : communicators) CHECK(ncclCommDestroy(communicator));
  std::printf("%d devices, wrong %zu\n", devices, wrong);
  return wrong != 0;
}
