// Kernels that write or read memory that is not their program's, one for each word of the command line; and ordinary ones, which may
// use every kind of memory that a program can be given.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

static bool looks_away = false;  // ignores errors

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const hipError_t error = (call);                                                         \
    if (error != hipSuccess) {                                                               \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                     \
      std::exit(looks_away ? 0 : 1);                                                         \
    }                                                                                        \
  } while (0)

using Packet = const char __attribute__((address_space(4)))*;

constexpr int kSignalValue = 1, kSignalStart = 4, kSignalEnd = 5, kSignalReserved = 6;  // words of amd_signal_t

__device__ long* completion_signal() {
  const Packet packet = (Packet)__builtin_amdgcn_dispatch_ptr();
  return *(long* const __attribute__((address_space(4)))*)(packet + 56);
}

// What an accepted forgery would look like: forged times, and the end of the wait.
__global__ void forges_times(float* out) {
  volatile long* const signal = completion_signal();
  if (threadIdx.x == 0 && signal) signal[kSignalStart] = 1000, signal[kSignalEnd] = 1001, signal[kSignalValue] = 0;
  out[threadIdx.x] = threadIdx.x;
}

__global__ void decrements_value(float* out) {
  if (threadIdx.x == 0) __hip_atomic_fetch_add(completion_signal() + kSignalValue, -1L, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_reserved(float* out) {
  if (threadIdx.x == 0) *reinterpret_cast<volatile int*>(completion_signal() + kSignalReserved) = 7;
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_packet(float* out) {
  const auto packet = (uint64_t)__builtin_amdgcn_dispatch_ptr();
  if (threadIdx.x == 0) *reinterpret_cast<volatile int*>(packet + 48) = 7;
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_next_packet(float* out) {
  const auto packet = (uint64_t)__builtin_amdgcn_dispatch_ptr();
  if (threadIdx.x == 0) *reinterpret_cast<volatile short*>(packet + 64 + 48) = 7;
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_queue(float* out) {
  const auto queue = (uint64_t)__builtin_amdgcn_queue_ptr();
  if (threadIdx.x == 0) *reinterpret_cast<volatile char*>(queue + 200) = 7;
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_arguments(float* out) {
  const auto arguments = (uint64_t)__builtin_amdgcn_kernarg_segment_ptr();
  float* const mine = out;
  if (threadIdx.x == 0) *reinterpret_cast<volatile long*>(arguments) = 7;
  mine[threadIdx.x] = threadIdx.x;
}

__global__ void writes_code(float* out) {
  if (threadIdx.x == 0) *reinterpret_cast<volatile int*>(reinterpret_cast<uint64_t>(&writes_code)) = 7;
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_through_a_buffer(float* out) {
  const auto signal = reinterpret_cast<uint64_t>(completion_signal());
  __attribute__((__vector_size__(16))) int descriptor;
  descriptor[0] = __builtin_amdgcn_readfirstlane(static_cast<int>(signal));
  descriptor[1] = __builtin_amdgcn_readfirstlane(static_cast<int>(signal >> 32) & 0xffff);
  descriptor[2] = 64, descriptor[3] = 0x00027000;
  if (threadIdx.x == 0) asm volatile("buffer_store_dword %0, off, %1, 0 offset:32" ::"v"(7), "s"(descriptor) : "memory");
  out[threadIdx.x] = threadIdx.x;
}

__global__ void writes_host(float* out, volatile int* host) {
  if (threadIdx.x == 0) *host = 7;
  out[threadIdx.x] = threadIdx.x;
}

// What tells the runs of a program apart.

__global__ void reads_signal(float* out) { out[threadIdx.x] = threadIdx.x + 0 * static_cast<volatile int*>((void*)completion_signal())[0]; }

__global__ void reads_next_packet(float* out) {
  const auto packet = (uint64_t)__builtin_amdgcn_dispatch_ptr();
  out[threadIdx.x] = threadIdx.x + 0 * *reinterpret_cast<volatile short*>(packet + 64);
}

__global__ void reads_other_arguments(float* out) {
  const auto arguments = (uint64_t)__builtin_amdgcn_kernarg_segment_ptr();
  out[threadIdx.x] = threadIdx.x + 0 * *reinterpret_cast<volatile int*>(arguments + 2048);
}

// Its address is the same in every run; the kernel's descriptor does not ask for it.
__global__ void reads_queue(float* out, unsigned long queue) {
  out[threadIdx.x] = threadIdx.x + 0 * *reinterpret_cast<volatile int*>(queue);
}

__global__ void finds_queue(unsigned long* out) { *out = (unsigned long)__builtin_amdgcn_queue_ptr(); }

__global__ void reads_host(float* out, volatile int* host) { out[threadIdx.x] = threadIdx.x + 0 * *host; }

// ---- ordinary ----

__global__ void reads_its_own(float* out) {
  const auto arguments = (uint64_t)__builtin_amdgcn_kernarg_segment_ptr(), packet = (uint64_t)__builtin_amdgcn_dispatch_ptr();
  const auto code = reinterpret_cast<uint64_t>(&writes_code);
  int sum = 0;
  for (const uint64_t address : {arguments, packet, code}) sum += *reinterpret_cast<volatile int*>(address);
  out[threadIdx.x] = threadIdx.x + 0 * sum;
}

__device__ unsigned counter = 5;
__device__ float table[64];

__global__ void fills(float* out) { out[threadIdx.x] = threadIdx.x; }

__global__ void uses_variables() {
  table[threadIdx.x] = threadIdx.x;
  atomicAdd(&counter, 1u);
}

__global__ void prints(float* out) {
  if (threadIdx.x == 3) printf("thread %d\n", static_cast<int>(threadIdx.x));
  out[threadIdx.x] = threadIdx.x;
}

__global__ void allocates(float* out) {
  auto* const own = static_cast<float*>(malloc(16));
  own[0] = threadIdx.x;
  out[threadIdx.x] = own[0];
  free(own);
}

__global__ void uses_the_stack(float* out, int where) {
  volatile float kept[32];
  for (int i = 0; i < 32; ++i) kept[i] = i;
  out[threadIdx.x] = kept[where] - where + threadIdx.x;
}

static bool is_filled(const float* out) {
  for (int i = 0; i < 64; ++i)
    if (out[i] != i) return false;
  return true;
}

static bool launched(const std::function<void(float*)>& launch, float* memory) {
  CHECK(hipMemset(memory, 0, 64 * sizeof(float)));
  launch(memory);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  float out[64];
  CHECK(hipMemcpy(out, memory, sizeof out, hipMemcpyDefault));
  return is_filled(out);
}

static bool on_device(const std::function<void(float*)>& launch) {
  float* memory = nullptr;
  CHECK(hipMalloc(&memory, 64 * sizeof(float)));
  const bool filled = launched(launch, memory);
  CHECK(hipFree(memory));
  return filled;
}

__global__ void stores_a_flag(volatile long* flag, float* out) {
  if (threadIdx.x == 0) *flag = 7;
  out[threadIdx.x] = threadIdx.x;
}

// The value of a signal of the program's own.
static bool signal_memory() {
  long* flag = nullptr;
  CHECK(hipExtMallocWithFlags(reinterpret_cast<void**>(&flag), sizeof *flag, hipMallocSignalMemory));
  return on_device([flag](float* out) { stores_a_flag<<<1, 64>>>(flag, out); }) && *static_cast<volatile long*>(flag) == 7;
}

static bool every_kind_of_memory() {
  const auto fill = [](float* out) { fills<<<1, 64>>>(out); };
  float *pinned = nullptr, *mapped = nullptr;
  CHECK(hipHostMalloc(&pinned, 4096));
  static float registered[4096];
  CHECK(hipHostRegister(registered, sizeof registered, hipHostRegisterDefault));
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), registered, 0));
  bool good = on_device(fill);
  for (float* memory : {pinned, mapped + 64}) good = launched(fill, memory) && good;
  return good;
}

static bool variables() {
  uses_variables<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  float host[64];
  unsigned count = 0;
  CHECK(hipMemcpyFromSymbol(host, HIP_SYMBOL(table), sizeof host));
  CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof count));
  return is_filled(host) && count == 69;
}

static unsigned long queue_address() {
  unsigned long *memory = nullptr, found = 0;
  CHECK(hipMalloc(&memory, sizeof found));
  finds_queue<<<1, 1>>>(memory);
  CHECK(hipMemcpy(&found, memory, sizeof found, hipMemcpyDefault));
  return found;
}

// With events, so that its packet has a completion signal.
template <class... Types, class... Values>
static void launch(void (*kernel)(Types...), Values... values) {
  hipEvent_t start, stop;
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  hipExtLaunchKernelGGL(kernel, dim3(1), dim3(64), 0, nullptr, start, stop, 0, values...);
}

#define PLAIN(KERNEL) {#KERNEL, [] { return on_device([](float* out) { launch(KERNEL, out); }); }}

static int variable_of_the_host;

int main(int count, char** words) {
  looks_away = count > 2;
  const std::map<std::string, std::function<bool()>> cases = {
      PLAIN(forges_times), PLAIN(decrements_value), PLAIN(writes_reserved), PLAIN(writes_packet), PLAIN(writes_next_packet),
      PLAIN(writes_queue), PLAIN(writes_arguments), PLAIN(writes_code), PLAIN(writes_through_a_buffer),
      {"writes_host", [] { return on_device([](float* out) { launch(writes_host, out, &variable_of_the_host); }); }},
      PLAIN(reads_signal), PLAIN(reads_next_packet), PLAIN(reads_other_arguments),
      {"reads_queue", [] { return on_device([](float* out) { launch(reads_queue, out, queue_address()); }); }},
      {"reads_host", [] { return on_device([](float* out) { launch(reads_host, out, &variable_of_the_host); }); }},
      PLAIN(reads_its_own), PLAIN(prints), PLAIN(allocates), {"memory", every_kind_of_memory}, {"signal", signal_memory}, {"variables", variables},
      {"stack", [] { return on_device([](float* out) { launch(uses_the_stack, out, 5); }); }},
  };
  const bool good = cases.at(words[1])();
  std::puts(good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
