// Prints the initial contents of a vector register, a scalar register, LDS and private memory in three launches.
#include <hip/hip_runtime.h>

#include <cstdio>

#define MUST(call) \
  if ((call) != hipSuccess) return std::printf("%s failed\n", #call), 1

constexpr int kWords = 4, kThreads = 64;

__global__ void peek(unsigned* out) {
  __shared__ volatile unsigned shared[kThreads];
  volatile unsigned own[4];
  unsigned vector, scalar;
  asm volatile("v_mov_b32 %0, v60\n s_mov_b32 %1, s90" : "=v"(vector), "=s"(scalar)::"v61", "s91");
  const unsigned found[kWords] = {vector, scalar, shared[threadIdx.x], own[threadIdx.x & 3]};
  for (int i = 0; i < kWords; ++i) out[(blockIdx.x * kThreads + threadIdx.x) * kWords + i] = found[i];
}

int main() {
  constexpr int count = 2 * kThreads * kWords;
  unsigned *out, words[count];
  MUST(hipMalloc(&out, sizeof words));
  for (int launch = 0; launch < 3; ++launch) {
    peek<<<2, kThreads>>>(out);
    MUST(hipMemcpy(words, out, sizeof words, hipMemcpyDeviceToHost));
    for (const unsigned word : words) std::printf("%08x ", word);
    std::printf("\n");
  }
}
