// launches <count>: launches tiny kernels, synchronising now and then; prints its resident memory in KiB after the
// first fifth and at the end. launches <count> unsynchronized: returns from main with all of them in flight.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

__global__ void add_one(int* value) { *value += 1; }

static long resident_kib() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%ld %ld", &total, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int count, char** arguments) {
  const int launches = std::atoi(arguments[1]);
  const bool synchronise = count < 3;
  int* value;
  if (hipMalloc(&value, sizeof *value) != hipSuccess || hipMemset(value, 0, sizeof *value) != hipSuccess) return 2;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 2;
  for (int i = 0; i < launches; ++i) {
    add_one<<<1, 1, 0, synchronise ? 0 : stream>>>(value);
    if (!synchronise) {
      if (i % 100 == 0 && hipMemcpyAsync(value + 0, value, 0, hipMemcpyDeviceToDevice, stream) != hipSuccess) return 2;
      continue;
    }
    if (i % 100 == 99 && hipDeviceSynchronize() != hipSuccess) return 2;
    if (i == launches / 5) std::printf("%ld ", resident_kib());
  }
  if (!synchronise) return 0;
  int result = 0;
  if (hipMemcpy(&result, value, sizeof result, hipMemcpyDeviceToHost) != hipSuccess) return 2;
  std::printf("%ld\n", resident_kib());
  return result == launches ? 0 : 1;
}
