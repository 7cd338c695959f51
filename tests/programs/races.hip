// Kernels with and without a race: races <name>. Prints a checksum of nothing that depends on it.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int kThreads = 256;

// The neighbour wave's value is read without a barrier.
__global__ void missing_barrier(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = threadIdx.x;
  out[blockIdx.x * kThreads + threadIdx.x] = static_cast<volatile int*>(values)[(threadIdx.x + 64) % kThreads];
}

// Workgroups add to the same bins without atomics.
__global__ void plain_histogram(int* bins, const int* values) { bins[values[blockIdx.x * kThreads + threadIdx.x] % 16] += 1; }

// Two waves of a workgroup write the same words of global memory.
__global__ void cross_wave(int* out) { out[blockIdx.x * 64 + threadIdx.x % 64] = threadIdx.x; }

__global__ void unwritten_lds(int* out) {
  __shared__ int values[kThreads];
  if (threadIdx.x < 64) values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

// ---- correct ones ----

__global__ void with_barrier(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = values[(threadIdx.x + 64) % kThreads];
}

__global__ void atomic_histogram(int* bins, const int* values) {
  atomicAdd(&bins[values[blockIdx.x * kThreads + threadIdx.x] % 16], 1);
}

// The last workgroup sums what the others left, after fences.
__global__ void last_block_sums(int* partial, unsigned* arrived, int* total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
  *total = sum;
}

// Neighbouring workgroups share words, but no bytes.
__global__ void bytes(unsigned char* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
}

int main(int, char** arguments) {
  const char* name = arguments[1];
  constexpr int kGroups = 32;
  int *a, *b;
  if (hipMalloc(&a, 1 << 20) != hipSuccess || hipMalloc(&b, 1 << 20) != hipSuccess) return 2;
  if (hipMemset(a, 0, 1 << 20) != hipSuccess || hipMemset(b, 0, 1 << 20) != hipSuccess) return 2;
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("missing_barrier")) missing_barrier<<<kGroups, kThreads>>>(a);
  else if (is("plain_histogram")) plain_histogram<<<kGroups, kThreads>>>(a, b);
  else if (is("cross_wave")) cross_wave<<<kGroups, kThreads>>>(a);
  else if (is("unwritten_lds")) unwritten_lds<<<1, kThreads>>>(a);
  else if (is("with_barrier")) with_barrier<<<kGroups, kThreads>>>(a);
  else if (is("atomic_histogram")) atomic_histogram<<<kGroups, kThreads>>>(a, b);
  else if (is("last_block_sums")) last_block_sums<<<kGroups, kThreads>>>(a, reinterpret_cast<unsigned*>(b), b + 64);
  else if (is("bytes")) bytes<<<kGroups, kThreads>>>(reinterpret_cast<unsigned char*>(a));
  else return 2;
  return hipDeviceSynchronize() != hipSuccess;
}
