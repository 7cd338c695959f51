// launches <count>: launches tiny kernels, synchronising occasionally. After a warm-up in which HIP's rings of packets and
// kernel arguments wrap around, prints how many KiB of resident memory and how many bytes of used heap <count> further
// launches have added. launches <count> unsynchronized: returns from main with all of them in flight.
#include <hip/hip_runtime.h>
#include <malloc.h>
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

static long heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return long(info.uordblks + info.hblkhd);
}

static void launch(int count, int* value) {
  for (int i = 1; i <= count; ++i) {
    add_one<<<1, 1>>>(value);
    if (i % 100 == 0 && hipDeviceSynchronize() != hipSuccess) std::exit(2);
  }
}

static void launch_unsynchronized(int count, int* value) {
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) std::exit(2);
  for (int i = 0; i < count; ++i) {
    add_one<<<1, 1, 0, stream>>>(value);
    if (i % 100 == 0 && hipMemcpyAsync(value, value, 0, hipMemcpyDeviceToDevice, stream) != hipSuccess) std::exit(2);
  }
}

int main(int count, char** arguments) {
  constexpr int kWarmUp = 60000;
  const int launches = std::atoi(arguments[1]);
  int* value;
  if (hipMalloc(&value, sizeof *value) != hipSuccess || hipMemset(value, 0, sizeof *value) != hipSuccess) return 2;
  if (count > 2) return launch_unsynchronized(launches, value), 0;
  launch(kWarmUp, value);
  const long resident = resident_kib(), heap = heap_in_use();
  launch(launches, value);
  std::printf("%ld %ld\n", resident_kib() - resident, heap_in_use() - heap);
  int result = 0;
  if (hipMemcpy(&result, value, sizeof result, hipMemcpyDeviceToHost) != hipSuccess) return 2;
  return result == kWarmUp + launches ? 0 : 1;
}
