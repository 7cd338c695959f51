// Kernels that wait for others: waiting_kernels <scenario>. Prints the outcome, and modelled times.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#define OK(call) expect((call), #call)
static void expect(hipError_t error, const char* call) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", call, hipGetErrorName(error));
  std::exit(1);
}

__device__ int look(int* flag) { return __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM); }
__device__ void put(int* flag, int value) { __hip_atomic_store(flag, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM); }

__global__ void wait_for(int* flag, int value) { while (look(flag) != value); }
__global__ void set(int* flag, int value) { put(flag, value); }
// Waits in such a way that no two rounds of its loop are alike.
__global__ void count_until(int* flag, long* looks) {
  long n = 0;
  while (look(flag) == 0) n += 1 + (clock64() & 1);
  *looks = n;
}
__global__ void wait_then_set(int* wait, int* then) { while (look(wait) == 0); put(then, 1); }
__global__ void ping_pong(int* turn, int me, int rounds, int* sum) {
  for (int i = me; i < 2 * rounds; i += 2) {
    while (look(turn) != i);
    *sum += i;
    put(turn, i + 1);
  }
}
// 64 workgroups of consumers take what a producer on another stream puts into a ring of four slots.
__global__ void consume(int* ring, int items, int* out) {
  __shared__ int item;
  for (int i = blockIdx.x; i < items; i += gridDim.x) {
    if (threadIdx.x == 0) {
      while (look(&ring[i % 4 * 2]) != i + 1);
      item = ring[i % 4 * 2 + 1];
      put(&ring[i % 4 * 2], -(i + 1));
    }
    __syncthreads();
    if (threadIdx.x == 0) out[i] = item;
    __syncthreads();
  }
}
__global__ void produce(int* ring, int items) {
  for (int i = 0; i < items; ++i) {
    while (i >= 4 && look(&ring[i % 4 * 2]) != -(i - 3));
    ring[i % 4 * 2 + 1] = i * i;
    put(&ring[i % 4 * 2], i + 1);
  }
}

struct Stream {
  hipStream_t stream;
  hipEvent_t begin, end;
  Stream() {
    OK(hipStreamCreate(&stream));
    OK(hipEventCreate(&begin));
    OK(hipEventCreate(&end));
  }
  template <class F>
  void timed(F launch) {
    OK(hipEventRecord(begin, stream));
    launch();
    OK(hipEventRecord(end, stream));
  }
  float us() {
    float ms;
    OK(hipEventElapsedTime(&ms, begin, end));
    return ms * 1000;
  }
};

int main(int, char** arguments) {
  const std::string scenario = arguments[1];
  Stream a, b;
  int *flag, *host, *data;
  OK(hipMalloc(&flag, 4096));
  OK(hipMemset(flag, 0, 4096));
  OK(hipHostMalloc(&host, 4096));
  std::memset(host, 0, 4096);
  OK(hipMalloc(&data, 1 << 16));
  OK(hipDeviceSynchronize());
  if (scenario == "kernels") {
    a.timed([&] { wait_for<<<1, 64, 0, a.stream>>>(flag, 1); });
    b.timed([&] { set<<<1, 1, 0, b.stream>>>(flag, 1); });
  } else if (scenario == "many_waves") {
    a.timed([&] { wait_for<<<500, 256, 0, a.stream>>>(flag, 1); });
    b.timed([&] { set<<<1, 1, 0, b.stream>>>(flag, 1); });
  } else if (scenario == "counting") {
    a.timed([&] { count_until<<<1, 1, 0, a.stream>>>(flag, reinterpret_cast<long*>(data)); });
    b.timed([&] { set<<<1, 1, 0, b.stream>>>(flag, 1); });
  } else if (scenario == "values" || scenario == "host_values" || scenario == "signal_values") {
    void* at = scenario == "values" ? flag : host;
    if (scenario == "signal_values") OK(hipExtMallocWithFlags(&at, 8, hipMallocSignalMemory)), *static_cast<long*>(at) = 0;
    OK(hipStreamWaitValue32(a.stream, at, 1, hipStreamWaitValueEq, 0xffffffff));
    set<<<1, 1, 0, a.stream>>>(data, 17);
    OK(hipStreamWriteValue32(b.stream, at, 1, 0));
    OK(hipDeviceSynchronize());
    if (scenario != "signal_values") {
      OK(hipStreamWaitValue64(a.stream, at, 5, hipStreamWaitValueGte, ~0ull));
      OK(hipStreamWriteValue64(b.stream, at, 6, 0));
    }
  } else if (scenario == "ping_pong") {
    for (Stream* s : {&a, &b}) s->timed([&] { ping_pong<<<1, 64, 0, s->stream>>>(flag, s == &b, 200, data); });
  } else if (scenario == "ring") {
    a.timed([&] { consume<<<64, 128, 0, a.stream>>>(flag, 256, data); });
    b.timed([&] { produce<<<1, 1, 0, b.stream>>>(flag, 256); });
  } else if (scenario == "host_releases") {
    wait_for<<<1, 1, 0, a.stream>>>(host, 1);
    std::printf("%s\n", hipGetErrorName(hipStreamQuery(a.stream)));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    __atomic_store_n(host, 1, __ATOMIC_RELEASE);
  } else if (scenario == "copy_releases") {
    wait_for<<<1, 1, 0, a.stream>>>(flag, 1);
    *host = 1;
    OK(hipMemcpyAsync(flag, host, 4, hipMemcpyHostToDevice, b.stream));
  } else if (scenario == "long_work") {
    // A host thread works for longer than the test's deadlock timeout, and then releases the kernel.
    wait_for<<<1, 1, 0, a.stream>>>(host, 1);
    std::thread([host] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
      while (std::chrono::steady_clock::now() < end);
      __atomic_store_n(host, 1, __ATOMIC_RELEASE);
    }).detach();
  } else if (scenario == "deadlock") {
    wait_then_set<<<1, 64, 0, a.stream>>>(flag, flag + 1);
    wait_then_set<<<1, 64, 0, b.stream>>>(flag + 1, flag);
  } else if (scenario == "alone") {
    OK(hipStreamWaitValue32(a.stream, flag, 1, hipStreamWaitValueEq, 0xffffffff));
  }
  std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  if (scenario == "values" || scenario == "host_values" || scenario == "signal_values") {
    int seen;
    OK(hipMemcpy(&seen, data, 4, hipMemcpyDeviceToHost));
    std::printf("behind the wait: %d\n", seen);
  }
  if (scenario == "ping_pong") {
    int sum;
    OK(hipMemcpy(&sum, data, 4, hipMemcpyDeviceToHost));
    std::printf("sum %d\n", sum);
  }
  if (scenario == "ring") {
    static int out[256];
    OK(hipMemcpy(out, data, sizeof out, hipMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < 256; ++i) wrong += out[i] != i * i;
    std::printf("wrong %d\n", wrong);
  }
  if (scenario == "kernels" || scenario == "many_waves" || scenario == "ping_pong" || scenario == "ring")
    std::printf("us %.3f %.3f\n", a.us(), b.us());
}
