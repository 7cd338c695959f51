// Writes what a kernel can know of its launch: shapes GROUPS_X,Y,Z SIZE_X,Y,Z DYNAMIC_LDS. With -DPLAIN it knows only its
// place.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

constexpr unsigned kWords = 1 << 16;

__global__ void shapes(unsigned* out) {
  extern __shared__ unsigned staged[];
#ifdef PLAIN
  if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
#else
  const unsigned item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned at = group * blockDim.x * blockDim.y * blockDim.z + item;
  staged[item] = at;
  __syncthreads();
  atomicAdd(&out[0], 1u);
  if (at + 64 < kWords) out[at + 64] = staged[item] ^ (blockIdx.x << 8) ^ (blockIdx.y << 16) ^ (blockIdx.z << 24);
  using Words = const unsigned __attribute__((address_space(4)))*;
  const auto hidden = (Words)__builtin_amdgcn_implicitarg_ptr();
  for (unsigned i = 0; at == 0 && i < 17; ++i)  // what lies between them is whatever the host left there
    out[1 + i] = i < 6 || (i >= 10 && i < 16) ? hidden[i] : i == 16 ? hidden[i] & 0xffff : 0;
#endif
}

static dim3 extent(const char* text) {
  unsigned x = 1, y = 1, z = 1;
  std::sscanf(text, "%u,%u,%u", &x, &y, &z);
  return dim3(x, y, z);
}

int main(int count, char** words) {
  if (count != 4) return 2;
  unsigned* out = nullptr;
  if (hipMalloc(&out, kWords * sizeof *out) != hipSuccess || hipMemset(out, 0, kWords * sizeof *out) != hipSuccess) return 1;
  shapes<<<extent(words[1]), extent(words[2]), std::atoi(words[3])>>>(out);
  return hipDeviceSynchronize() != hipSuccess;
}
