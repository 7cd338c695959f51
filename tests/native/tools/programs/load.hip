// load DISPATCHES [THREADS [STREAMS]]: launches that many tiny kernels, from several threads at once, on streams of their own.
// Thread t launches the dispatches t, t + THREADS, ... and has STREAMS / THREADS streams, which it uses in turn; each
// stream's first dispatch is made before that. Dispatch i has i % 64 + 1 work-items and i / 64 % 512 words of LDS, by
// which it can be identified. Prints the ids of the threads, the seconds that launching and waiting took, and the peak
// memory in kB before and after.
#include <hip/hip_runtime.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                             \
  if (const hipError_t error = (call); error != hipSuccess) {                   \
    std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));          \
    std::_Exit(1);                                                              \
  }

__global__ void add_one(unsigned* value) {
  if (threadIdx.x == 0) *value += 1;
}

static long peak_kilobytes() {
  long kilobytes = 0;
  char line[256];
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  while (std::fgets(line, sizeof line, status) != nullptr) std::sscanf(line, "VmHWM: %ld", &kilobytes);
  std::fclose(status);
  return kilobytes;
}

static void launch(long first, long step, long end, const std::vector<hipStream_t>& streams, unsigned* values) {
  size_t turn = 0;
  for (long i = first; i < end; i += step, turn = (turn + 1) % streams.size())
    add_one<<<1, unsigned(i % 64 + 1), size_t(i / 64 % 512 * 4), streams[turn]>>>(values + turn);
  for (const hipStream_t stream : streams) CHECK(hipStreamSynchronize(stream));
}

int main(int argc, char** argv) {
  const long dispatches = argc > 1 ? std::atol(argv[1]) : 1000;
  const size_t thread_count = argc > 2 ? std::atol(argv[2]) : 4, stream_count = argc > 3 ? std::atol(argv[3]) : 8;
  const size_t share = stream_count / thread_count;
  unsigned* values;
  CHECK(hipMalloc(&values, stream_count * sizeof *values));
  CHECK(hipMemset(values, 0, stream_count * sizeof *values));
  CHECK(hipDeviceSynchronize());
  std::vector<std::vector<hipStream_t>> streams(thread_count, std::vector<hipStream_t>(share));
  for (auto& of_thread : streams)
    for (hipStream_t& stream : of_thread) CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  // Memory that a stream needs once, at its first dispatch, does not count as growth.
  for (size_t t = 0; t < thread_count; ++t) launch(0, 1, long(share), streams[t], values + t * share);
  const long before = peak_kilobytes();

  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      std::printf("thread %ld\n", long(syscall(SYS_gettid)));
      launch(long(t), long(thread_count), dispatches, streams[t], values + t * share);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(hipDeviceSynchronize());
  std::printf("seconds %.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  std::printf("peak %ld %ld\n", before, peak_kilobytes());

  std::vector<unsigned> host(stream_count);
  CHECK(hipMemcpy(host.data(), values, stream_count * sizeof(unsigned), hipMemcpyDeviceToHost));
  unsigned long sum = 0;
  for (const unsigned value : host) sum += value;
  return sum == size_t(dispatches) + stream_count ? 0 : 1;
}
