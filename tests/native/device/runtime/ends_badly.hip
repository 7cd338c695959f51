// Kernels that a device cannot finish: ends_badly <illegal|fault>. Prints what HIP reports.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void fine(int* out) { out[threadIdx.x] = 1; }
__global__ void illegal_instruction(int* out) {
  asm volatile(".long 0xffffffff");
  out[threadIdx.x] = 2;
}
__global__ void wild_store(int*) { *reinterpret_cast<volatile int*>(uint64_t{1} << 37) = 3; }

int main(int, char** argv) {
  int* out = nullptr;
  if (hipMalloc(&out, 4096) != hipSuccess) return 2;
  fine<<<1, 64>>>(out);
  std::printf("before: %s\n", hipGetErrorName(hipDeviceSynchronize()));
  std::fflush(stdout);
  if (std::strcmp(argv[1], "illegal") == 0)
    illegal_instruction<<<1, 64>>>(out);
  else
    wild_store<<<1, 64>>>(out);
  fine<<<1, 64>>>(out);
  const hipError_t error = hipDeviceSynchronize();
  std::printf("after: %s\n", hipGetErrorName(error));
  return error != hipSuccess;
}
