// Each word of the command line names a way of launching kernels or using memory. Checks its own results.
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const hipError_t error = (call);                                                         \
    if (error != hipSuccess) {                                                               \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                     \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (0)

constexpr int kCount = 5000;

__global__ void accumulate(unsigned* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += i + 1;
}

__global__ void three_dimensions(unsigned* values, int x, int y, int z) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < x && j < y && k < z) values[(k * y + j) * x + i] = i + 100 * j + 10000 * k + gridDim.y + blockDim.z;
}

__constant__ unsigned table[64];
__device__ unsigned calls = 7;
__device__ unsigned* where;

__global__ void through_variables(int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) where[i] = table[i % 64] + i;
  if (i == 0) calls += 5;
}

__global__ void with_scratch(unsigned* values, const int* order, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned kept[48];
  for (int k = 0; k < 48; ++k) kept[order[k]] = i * 48 + k;
  unsigned sum = 0;
  for (int k = 0; k < 48; ++k) sum = sum * 31 + kept[order[47 - k]];
  if (i < count) values[i] = sum;
}

__global__ void with_dynamic_lds(unsigned* values, int count) {
  extern __shared__ unsigned shared[];
  __shared__ unsigned fixed[16];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  shared[threadIdx.x] = i * 3;
  if (threadIdx.x < 16) fixed[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (i < count) values[i] = shared[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x % 16];
}

struct Node {
  Node* next;
  unsigned value;
};

__global__ void follow(Node* const* heads, unsigned* sums, int lists) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lists) return;
  unsigned sum = 0;
  for (Node* node = heads[i]; node; node = node->next) {
    sum = sum * 7 + node->value;
    node->value += 1;
  }
  sums[i] = sum;
}

__global__ void scale(unsigned* to, const unsigned* from, unsigned factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] * factor + 1;
}

template <class T>
T* device_memory(size_t count) {
  void* memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}

unsigned* filled(size_t count) {
  auto* memory = device_memory<unsigned>(count);
  std::vector<unsigned> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<unsigned>(i * 2654435761u);
  CHECK(hipMemcpy(memory, values.data(), count * sizeof(unsigned), hipMemcpyHostToDevice));
  return memory;
}

unsigned long checksum_of(const unsigned* device, size_t count) {
  std::vector<unsigned> values(count);
  CHECK(hipMemcpy(values.data(), device, count * sizeof(unsigned), hipMemcpyDeviceToHost));
  unsigned long sum = 0;
  for (const unsigned value : values) sum = sum * 1000003 + value;
  return sum;
}

unsigned blocks(int count) { return (count + 127) / 128; }

unsigned long run_accumulate() {
  unsigned* values = filled(kCount);
  for (int i = 0; i < 3; ++i) accumulate<<<blocks(kCount), 128>>>(values, kCount);
  return checksum_of(values, kCount);
}

// Allocates far more than it uses.
unsigned long run_untouched() {
  auto* values = device_memory<unsigned>(size_t{1} << 30);
  CHECK(hipMemset(values, 0, kCount * sizeof(unsigned)));
  accumulate<<<blocks(kCount), 128>>>(values, kCount);
  return checksum_of(values, kCount);
}

// During the second launch, no file can grow beyond a few pages.
unsigned long run_limited() {
  unsigned* values = filled(kCount);
  accumulate<<<blocks(kCount), 128>>>(values, kCount);
  CHECK(hipDeviceSynchronize());
  const rlimit few{20000, RLIM_INFINITY}, any{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &few) != 0) std::exit(1);
  accumulate<<<blocks(kCount), 128>>>(values, kCount);
  CHECK(hipDeviceSynchronize());
  if (setrlimit(RLIMIT_FSIZE, &any) != 0) std::exit(1);
  return checksum_of(values, kCount);
}

unsigned long run_dimensions() {
  unsigned* values = filled(17 * 9 * 5);
  three_dimensions<<<dim3(3, 2, 3), dim3(8, 5, 2)>>>(values, 17, 9, 5);
  return checksum_of(values, 17 * 9 * 5);
}

unsigned long run_variables() {
  unsigned host[64];
  for (unsigned i = 0; i < 64; ++i) host[i] = i * i;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), host, sizeof host));
  unsigned* values = filled(kCount);
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(where), &values, sizeof values));
  through_variables<<<blocks(kCount), 128>>>(kCount);
  unsigned count = 0;
  CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(calls), sizeof count));
  return checksum_of(values, kCount) + count;
}

unsigned long run_scratch() {
  int order[48];
  for (int i = 0; i < 48; ++i) order[i] = i * 5 % 48;
  int* device = device_memory<int>(48);
  CHECK(hipMemcpy(device, order, sizeof order, hipMemcpyHostToDevice));
  unsigned* values = filled(kCount);
  with_scratch<<<blocks(kCount), 128>>>(values, device, kCount);
  return checksum_of(values, kCount);
}

unsigned long run_lds() {
  unsigned* values = filled(kCount);
  with_dynamic_lds<<<blocks(kCount), 128, 128 * sizeof(unsigned)>>>(values, kCount);
  return checksum_of(values, kCount);
}

// Lists with each node in an allocation of its own, linked by device pointers.
unsigned long run_list() {
  constexpr int kLists = 10, kNodes = 6;
  std::vector<Node*> heads(kLists);
  for (int list = 0; list < kLists; ++list) {
    for (int i = 0; i < kNodes; ++i) {
      Node* node = device_memory<Node>(1);
      const Node content{heads[list], static_cast<unsigned>(list * 100 + i)};
      CHECK(hipMemcpy(node, &content, sizeof content, hipMemcpyHostToDevice));
      heads[list] = node;
    }
  }
  Node** device = device_memory<Node*>(kLists);
  CHECK(hipMemcpy(device, heads.data(), kLists * sizeof(Node*), hipMemcpyHostToDevice));
  unsigned* sums = filled(kLists);
  follow<<<1, 64>>>(device, sums, kLists);
  return checksum_of(sums, kLists);
}

// A chain across three streams: the second waits for the first, the third for the second, all submitted at once.
unsigned long run_streams() {
  hipStream_t streams[3];
  hipEvent_t done[3];
  unsigned* buffers[4];
  for (auto& buffer : buffers) buffer = filled(kCount);
  for (int i = 0; i < 3; ++i) {
    CHECK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    CHECK(hipEventCreate(&done[i]));
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      if (i > 0) CHECK(hipStreamWaitEvent(streams[i], done[i - 1], 0));
      scale<<<blocks(kCount), 128, 0, streams[i]>>>(buffers[i + 1], buffers[i], 3 + i + round, kCount);
      CHECK(hipEventRecord(done[i], streams[i]));
    }
    CHECK(hipStreamWaitEvent(streams[0], done[2], 0));
    CHECK(hipMemcpyAsync(buffers[0], buffers[3], kCount * sizeof(unsigned), hipMemcpyDeviceToDevice, streams[0]));
  }
  CHECK(hipDeviceSynchronize());
  return checksum_of(buffers[0], kCount);
}

// The second launch has to wait for a host function that takes a while.
unsigned long run_host_function() {
  unsigned* values = filled(kCount);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  accumulate<<<blocks(kCount), 128, 0, stream>>>(values, kCount);
  CHECK(hipLaunchHostFunc(stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }, nullptr));
  accumulate<<<blocks(kCount), 128, 0, stream>>>(values, kCount);
  CHECK(hipStreamAddCallback(stream, [](hipStream_t, hipError_t, void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }, nullptr, 0));
  accumulate<<<blocks(kCount), 128, 0, stream>>>(values, kCount);
  CHECK(hipStreamSynchronize(stream));
  return checksum_of(values, kCount);
}

// Four threads, each of which keeps a stream busy.
unsigned long run_threads() {
  constexpr int kThreads = 4;
  unsigned* buffers[kThreads];
  for (auto& buffer : buffers) buffer = filled(kCount);
  std::vector<std::thread> threads;
  for (unsigned* buffer : buffers)
    threads.emplace_back([buffer] {
      hipStream_t stream;
      CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      std::vector<unsigned> host(kCount);
      for (int i = 0; i < 20; ++i) {
        accumulate<<<blocks(kCount), 128, 0, stream>>>(buffer, kCount);
        if (i % 5 == 0) CHECK(hipMemcpyAsync(host.data(), buffer, kCount * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        if (i % 7 == 0) CHECK(hipStreamSynchronize(stream));
      }
      CHECK(hipStreamSynchronize(stream));
    });
  for (std::thread& thread : threads) thread.join();
  unsigned long sum = 0;
  for (const unsigned* buffer : buffers) sum += checksum_of(buffer, kCount);
  return sum;
}

unsigned long run_graph() {
  unsigned *from = filled(kCount), *to = filled(kCount);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipGraph_t graph;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (unsigned i = 0; i < 4; ++i) {
    scale<<<blocks(kCount), 128, 0, stream>>>(to, from, 5 + i, kCount);
    scale<<<blocks(kCount), 128, 0, stream>>>(from, to, 9 + i, kCount);
  }
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t ready;
  CHECK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) CHECK(hipGraphLaunch(ready, stream));
  CHECK(hipStreamSynchronize(stream));
  return checksum_of(from, kCount);
}

unsigned long run_pinned() {
  void *memory = nullptr, *device = nullptr;
  CHECK(hipHostMalloc(&memory, kCount * sizeof(unsigned), hipHostMallocMapped));
  auto* host = static_cast<unsigned*>(memory);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  CHECK(hipHostGetDevicePointer(&device, memory, 0));
  accumulate<<<blocks(kCount), 128>>>(static_cast<unsigned*>(device), kCount);
  CHECK(hipDeviceSynchronize());
  unsigned long sum = 0;
  for (int i = 0; i < kCount; ++i) sum = sum * 1000003 + host[i];
  return sum;
}

unsigned long run_registered() {
  std::vector<unsigned> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  CHECK(hipHostRegister(host.data(), kCount * sizeof(unsigned), hipHostRegisterMapped));
  void* device = nullptr;
  CHECK(hipHostGetDevicePointer(&device, host.data(), 0));
  accumulate<<<blocks(kCount), 128>>>(static_cast<unsigned*>(device), kCount);
  CHECK(hipDeviceSynchronize());
  unsigned long sum = 0;
  for (const unsigned value : host) sum = sum * 1000003 + value;
  CHECK(hipHostUnregister(host.data()));
  return sum;
}

// The kernel is in a library that is loaded when everything else is already running.
unsigned long run_library(const char* path) {
  unsigned* values = filled(kCount);
  accumulate<<<blocks(kCount), 128>>>(values, kCount);
  void* library = dlopen(path, RTLD_NOW);
  if (!library) std::fprintf(stderr, "%s\n", dlerror()), std::exit(1);
  reinterpret_cast<void (*)(unsigned*, int)>(dlsym(library, "launch_mix"))(values, kCount);
  return checksum_of(values, kCount);
}

unsigned long run_module(const char* path) {
  unsigned* values = filled(kCount);
  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoad(&module, path));
  CHECK(hipModuleGetFunction(&function, module, "mix"));
  int count = kCount;
  void* arguments[] = {&values, &count};
  CHECK(hipModuleLaunchKernel(function, blocks(kCount), 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  return checksum_of(values, kCount);
}

unsigned long run_floats(const char* path) {
  std::vector<float> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i) - 1000.25f;
  auto *from = device_memory<float>(kCount), *to = device_memory<float>(kCount);
  CHECK(hipMemcpy(from, host.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoad(&module, path));
  CHECK(hipModuleGetFunction(&function, module, "halve"));
  int count = kCount;
  void* arguments[] = {&to, &from, &count};
  CHECK(hipModuleLaunchKernel(function, blocks(kCount), 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  return checksum_of(reinterpret_cast<unsigned*>(to), kCount);
}

int main(int count, char** words) {
  const char* path = count > 2 ? words[2] : "";
  const std::map<std::string, std::function<unsigned long()>> ways{
      {"accumulate", run_accumulate}, {"dimensions", run_dimensions}, {"variables", run_variables}, {"scratch", run_scratch},
      {"lds", run_lds},               {"list", run_list},             {"streams", run_streams},     {"threads", run_threads},
      {"graph", run_graph},           {"pinned", run_pinned},         {"registered", run_registered},
      {"limited", run_limited},       {"host_function", run_host_function}, {"untouched", run_untouched},   {"floats", [=] { return run_floats(path); }},
      {"library", [=] { return run_library(path); }}, {"module", [=] { return run_module(path); }}};
  const auto way = ways.find(count > 1 ? words[1] : "");
  if (way == ways.end()) return 64;
  std::printf("%s %016lx\n", words[1], way->second());
}
