// Kernels that a device cannot finish, and ways for a program to end: faults <name>. Prints what HIP reports.
#include <hip/hip_runtime.h>
#include <signal.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

__global__ void fine(int* out) { out[threadIdx.x] = 1; }
__global__ void store_behind(int* out, size_t elements) { out[elements + threadIdx.x] = 2; }
__global__ void load_null(const int* from, int* out) { out[threadIdx.x] = *static_cast<const volatile int*>(from); }
// The first lanes still access the allocation, the others the unmapped page after it.
__global__ void crosses_the_end(int* out, size_t elements) { out[elements - 16 + threadIdx.x] = 2; }
__global__ void misaligned_store(char* out) { *reinterpret_cast<volatile int*>(out + 4 * threadIdx.x + 1) = 7; }
__global__ void misaligned_atomic(char* out) { atomicAdd(reinterpret_cast<int*>(out + 2), 1); }
__global__ void illegal_instruction(int* out) {
  asm volatile(".long 0xffffffff");
  out[threadIdx.x] = 2;
}
__global__ void endless(volatile int* out) {
  while (out[0] == 0) {
  }
}
__global__ void lds_overrun(int* out, int index) {
  __shared__ int values[64];
  values[threadIdx.x + index] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}
__global__ void stack_overflow(int* out, int index) {
  volatile int local[16] = {};
  local[index] = 1;
  out[threadIdx.x] = local[threadIdx.x % 16];
}
__global__ void jump_away(uint64_t to, int* out) {
  asm volatile("s_setpc_b64 %0" ::"s"(to));
  out[0] = 1;
}
__device__ const unsigned looks_like_code[2] = {0x7e000280, 0xbf810000};  // v_mov_b32 v0, 0; s_endpgm
__global__ void jump_to_constants(int* out) {
  asm volatile("s_setpc_b64 %0" ::"s"(looks_like_code));
  out[0] = 1;
}
__global__ void trap(int* out, int lane) {
  if (threadIdx.x == lane) __builtin_trap();
  out[threadIdx.x] = 1;
}
__global__ void fails_assertion(int* out, int lane) {
  assert(threadIdx.x != lane);
  out[threadIdx.x] = 1;
}
__global__ void calls_abort(int* out, int lane) {
  if (threadIdx.x == lane) abort();
  out[threadIdx.x] = 1;
}
__global__ void breakpoint(int* out) {
  __builtin_debugtrap();
  out[threadIdx.x] = 1;
}
// 256 VGPRs per work-item: two waves per SIMD, eight per CU.
__global__ void __launch_bounds__(64) many_registers(int* out) {
  asm volatile("v_mov_b32 v255, 1" ::: "v255");
  out[threadIdx.x] = 1;
}
__global__ void __launch_bounds__(1024) large(int* out) { out[threadIdx.x] = 1; }

int main(int, char** arguments) {
  const std::string name = arguments[1];
  constexpr size_t kBytes = 4 << 20, kElements = kBytes / sizeof(int);
  int* out = nullptr;
  if (hipMalloc(&out, kBytes) != hipSuccess) return 2;
  if (hipMemset(out, 0, kBytes) != hipSuccess) return 2;
  fine<<<1, 64>>>(out);
  std::printf("before: %s\n", hipGetErrorName(hipDeviceSynchronize()));
  std::fflush(stdout);

  const std::map<std::string, std::function<void()>> cases = {
      {"out_of_bounds", [&] { store_behind<<<1, 64>>>(out, kElements + (1 << 28)); }},
      {"null", [&] { load_null<<<1, 64>>>(nullptr, out); }},
      {"middle_of_a_wave", [&] { crosses_the_end<<<1, 64>>>(out, kElements); }},
      {"misaligned", [&] { misaligned_store<<<1, 64>>>(reinterpret_cast<char*>(out)); }},
      {"misaligned_atomic", [&] { misaligned_atomic<<<1, 64>>>(reinterpret_cast<char*>(out)); }},
      {"illegal", [&] { illegal_instruction<<<1, 64>>>(out); }},
      {"endless", [&] { endless<<<1, 64>>>(out + 1024); }},
      {"lds", [&] { lds_overrun<<<1, 64>>>(out, 1 << 20); }},
      {"stack", [&] { stack_overflow<<<1, 64>>>(out, 1 << 20); }},
      {"jump", [&] { jump_away<<<1, 64>>>(uint64_t{1} << 37, out); }},
      {"jump_to_constants", [&] { jump_to_constants<<<1, 64>>>(out); }},
      {"jump_to_buffer", [&] { jump_away<<<1, 64>>>(reinterpret_cast<uint64_t>(out), out); }},
      {"trap", [&] { trap<<<1, 64>>>(out, 5); }},
      {"assertion", [&] { fails_assertion<<<1, 64>>>(out, 5); }},
      {"abort_in_kernel", [&] { calls_abort<<<1, 64>>>(out, 5); }},
      {"breakpoint", [&] { breakpoint<<<1, 64>>>(out); }},
      {"too_many_registers", [&] { many_registers<<<1, 1024>>>(out); }},
      {"too_much_lds", [&] { large<<<1, 1024, 128 << 10>>>(out); }},
      {"too_many_threads", [&] { large<<<1, 2048>>>(out); }},
      {"raise", [] { raise(SIGSEGV); }},
      {"host_segfault", [] { *static_cast<volatile int*>(nullptr) = 1; }},
      {"abort", [&] { endless<<<1, 64>>>(out + 1024); std::abort(); }},
      {"exit", [&] { endless<<<1, 64>>>(out + 1024); std::_Exit(3); }},
      {"leave", [&] { endless<<<1, 64>>>(out + 1024); std::exit(3); }},
      {"kill", [&] { endless<<<1, 64>>>(out + 1024); kill(getpid(), SIGKILL); }},
      {"wait_for_ever", [&] { endless<<<1, 64>>>(out + 1024); }},
  };
  cases.at(name)();
  const hipError_t launched = hipGetLastError();
  const hipError_t error = hipDeviceSynchronize();
  std::printf("after: %s %s\n", hipGetErrorName(launched), hipGetErrorName(error));
  return launched != hipSuccess || error != hipSuccess;
}
