// What programs request from the driver besides memory and queues: driver_calls <feature>. Prints "right" if it works.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define OK(call) expect((call), #call)
static void expect(hipError_t error, const char* call) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", call, hipGetErrorName(error));
  std::exit(1);
}
static void check(bool condition, const char* what) {
  if (condition) return;
  std::printf("%s: wrong\n", what);
  std::exit(1);
}

constexpr int kCount = 5000;
__global__ void add(int* values, int count, int amount) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += amount;
}
static void add_one(int* values, int amount = 1, hipStream_t stream = nullptr) {
  add<<<(kCount + 255) / 256, 256, 0, stream>>>(values, kCount, amount);
  OK(hipGetLastError());
}
static bool all(const int* values, int value) {
  for (int i = 0; i < kCount; ++i)
    if (values[i] != value) return false;
  return true;
}
static bool all_on_device(const int* values, int value) {
  static int copy[kCount];
  OK(hipMemcpy(copy, values, sizeof copy, hipMemcpyDeviceToHost));
  return all(copy, value);
}

__managed__ int managed_array[kCount];

static void managed() {
  int* values;
  OK(hipMallocManaged(&values, kCount * sizeof(int)));
  std::memset(values, 0, kCount * sizeof(int));
  add_one(values);
  OK(hipDeviceSynchronize());
  check(all(values, 1), "managed memory");
  for (int i = 0; i < kCount; ++i) ++values[i];
  add_one(values);
  OK(hipDeviceSynchronize());
  check(all(values, 3) && all_on_device(values, 3), "managed memory written by both");
  hipPointerAttribute_t attributes;
  OK(hipPointerGetAttributes(&attributes, values));
  check(attributes.isManaged, "isManaged");
  OK(hipFree(values));
}

static void managed_variable() {
  for (int i = 0; i < kCount; ++i) managed_array[i] = 4;
  add_one(managed_array);
  OK(hipDeviceSynchronize());
  check(all(managed_array, 5), "__managed__");
}

static void prefetch() {
  int* values;
  OK(hipMallocManaged(&values, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) values[i] = 0;
  OK(hipMemAdvise(values, kCount * sizeof(int), hipMemAdviseSetReadMostly, 0));
  OK(hipMemAdvise(values, kCount * sizeof(int), hipMemAdviseSetPreferredLocation, 0));
  OK(hipMemPrefetchAsync(values, kCount * sizeof(int), 0, nullptr));
  add_one(values);
  OK(hipMemPrefetchAsync(values, kCount * sizeof(int), hipCpuDeviceId, nullptr));
  OK(hipDeviceSynchronize());
  check(all(values, 1), "prefetched memory");
  int where = -5, mostly = -5;
  OK(hipMemRangeGetAttribute(&where, sizeof where, hipMemRangeAttributePreferredLocation, values, kCount * sizeof(int)));
  OK(hipMemRangeGetAttribute(&mostly, sizeof mostly, hipMemRangeAttributeReadMostly, values, kCount * sizeof(int)));
  check(where == 0 && mostly == 1, "attributes of the range");
  OK(hipMemRangeGetAttribute(&where, sizeof where, hipMemRangeAttributeLastPrefetchLocation, values, kCount * sizeof(int)));
  check(where == hipCpuDeviceId, "last prefetch");
}

static void async_allocation() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  for (int round = 0; round < 5; ++round) {
    int* values;
    OK(hipMallocAsync(reinterpret_cast<void**>(&values), kCount * sizeof(int), stream));
    OK(hipMemsetAsync(values, 0, kCount * sizeof(int), stream));
    add_one(values, round, stream);
    std::vector<int> copy(kCount);
    OK(hipMemcpyAsync(copy.data(), values, kCount * sizeof(int), hipMemcpyDeviceToHost, stream));
    OK(hipFreeAsync(values, stream));
    OK(hipStreamSynchronize(stream));
    check(all(copy.data(), round), "hipMallocAsync");
  }
}

static void pools() {
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, 0};
  hipMemPool_t pool;
  OK(hipMemPoolCreate(&pool, &properties));
  int *a, *b;
  OK(hipMallocFromPoolAsync(reinterpret_cast<void**>(&a), 1 << 22, pool, nullptr));
  OK(hipMallocFromPoolAsync(reinterpret_cast<void**>(&b), 1 << 22, pool, nullptr));
  OK(hipMemsetAsync(a, 0, 1 << 22, nullptr));
  OK(hipMemsetAsync(b, 1, 1 << 22, nullptr));
  add_one(a);
  OK(hipDeviceSynchronize());
  check(all_on_device(a, 1) && all_on_device(b, 0x01010101), "memory of a pool");
  OK(hipFreeAsync(a, nullptr));
  OK(hipFreeAsync(b, nullptr));
  OK(hipDeviceSynchronize());
  OK(hipMemPoolTrimTo(pool, 0));
  OK(hipMemPoolDestroy(pool));
}

static void virtual_memory() {
  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, 0};
  size_t granule;
  OK(hipMemGetAllocationGranularity(&granule, &properties, hipMemAllocationGranularityMinimum));
  const size_t part = (kCount * sizeof(int) + granule - 1) / granule * granule;
  void* base;
  OK(hipMemAddressReserve(&base, 2 * part, 0, nullptr, 0));
  hipMemGenericAllocationHandle_t first, second;
  OK(hipMemCreate(&first, part, &properties, 0));
  OK(hipMemCreate(&second, part, &properties, 0));
  auto* low = static_cast<int*>(base);
  auto* high = reinterpret_cast<int*>(static_cast<char*>(base) + part);
  OK(hipMemMap(low, part, 0, first, 0));
  OK(hipMemMap(high, part, 0, second, 0));
  hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  OK(hipMemSetAccess(base, 2 * part, &access, 1));
  unsigned long long flags = 0;
  hipMemLocation location{hipMemLocationTypeDevice, 0};
  OK(hipMemGetAccess(&flags, &location, base));
  check(flags == hipMemAccessFlagsProtReadWrite, "hipMemGetAccess");
  OK(hipMemset(base, 0, 2 * part));
  add_one(low, 1);
  add_one(high, 2);
  OK(hipDeviceSynchronize());
  check(all_on_device(low, 1) && all_on_device(high, 2), "mapped memory");
  OK(hipMemUnmap(low, part));
  OK(hipMemUnmap(high, part));
  OK(hipMemMap(low, part, 0, second, 0));  // the same memory at another address
  OK(hipMemSetAccess(low, part, &access, 1));
  check(all_on_device(low, 2), "memory mapped again");
  OK(hipMemUnmap(low, part));
  OK(hipMemRelease(first));
  OK(hipMemRelease(second));
  OK(hipMemAddressFree(base, 2 * part));
}

static void priorities() {
  int least, greatest;
  OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  int* values;
  OK(hipMalloc(&values, kCount * sizeof(int)));
  OK(hipMemset(values, 0, kCount * sizeof(int)));
  OK(hipDeviceSynchronize());
  for (int priority = greatest; priority <= least; ++priority) {
    hipStream_t stream;
    OK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
    int is;
    OK(hipStreamGetPriority(stream, &is));
    check(is == priority, "priority");
    add_one(values, 1, stream);
    OK(hipStreamSynchronize(stream));
    OK(hipStreamDestroy(stream));
  }
  check(all_on_device(values, least - greatest + 1), "streams with priority");
}

static void cu_mask() {
  hipStream_t stream;
  uint32_t mask[10] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  OK(hipExtStreamCreateWithCUMask(&stream, 10, mask));
  uint32_t is[10] = {};
  OK(hipExtStreamGetCUMask(stream, 10, is));
  check(is[0] == 0xff && is[1] == 0, "mask");
  int* values;
  OK(hipMalloc(&values, kCount * sizeof(int)));
  OK(hipMemsetAsync(values, 0, kCount * sizeof(int), stream));
  add_one(values, 7, stream);
  OK(hipStreamSynchronize(stream));
  check(all_on_device(values, 7), "stream with a mask");
}

// One process creates memory and another one uses it.
static void ipc() {
  int to_child[2], to_parent[2];
  if (pipe(to_child) || pipe(to_parent)) std::exit(1);
  const pid_t child = fork();  // before HIP is initialised
  if (child == 0) {
    hipIpcMemHandle_t handle;
    if (read(to_child[0], &handle, sizeof handle) != sizeof handle) std::exit(2);
    int* values;
    OK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&values), handle, hipIpcMemLazyEnablePeerAccess));
    add_one(values, 10);
    OK(hipDeviceSynchronize());
    check(all_on_device(values, 11), "in the other process");
    OK(hipIpcCloseMemHandle(values));
    std::exit(0);
  }
  int* values;
  OK(hipMalloc(&values, kCount * sizeof(int)));
  OK(hipMemset(values, 0, kCount * sizeof(int)));
  add_one(values, 1);
  OK(hipDeviceSynchronize());
  hipIpcMemHandle_t handle;
  const hipError_t error = hipIpcGetMemHandle(&handle, values);
  if (error != hipSuccess) {
    close(to_child[1]);
    std::printf("hipIpcGetMemHandle: %s\n", hipGetErrorName(error));
    std::exit(0);
  }
  if (write(to_child[1], &handle, sizeof handle) != sizeof handle) std::exit(1);
  int status;
  waitpid(child, &status, 0);
  check(status == 0 && all_on_device(values, 11), "memory of two processes");
}

// A process forks only if the machine has the memory that each of its private mappings could take.
static void forking() {
  int* values;
  OK(hipMalloc(&values, kCount * sizeof(int)));
  std::ifstream maps("/proc/self/smaps");
  unsigned long long size = 0, largest = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind("Size:", 0) == 0) size = std::stoull(line.substr(5));
    if (line.rfind("VmFlags:", 0) == 0 && line.find(" ac") != std::string::npos) largest = std::max(largest, size);
  }
  check(size > 0 && largest < 1 << 20, ("a private mapping of " + std::to_string(largest) + " kB").c_str());
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  check(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "a child");
}

static void name() {
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  std::printf("%s\n%s\n", properties.name, properties.gcnArchName);
}

int main(int, char** arguments) {
  const std::string feature = arguments[1];
  const struct {
    const char* name;
    void (*run)();
  } features[] = {{"managed", managed},   {"managed_variable", managed_variable}, {"prefetch", prefetch}, {"async_allocation", async_allocation},
                  {"pools", pools},       {"virtual_memory", virtual_memory},     {"priorities", priorities}, {"cu_mask", cu_mask},
                  {"ipc", ipc},           {"forking", forking},               {"name", name}};
  for (const auto& known : features) {
    if (feature != known.name) continue;
    known.run();
    std::printf("right\n");
  }
}
