// Kernels with instructions that are easy to get wrong: each prints its results as bits in hexadecimal, one per line. Built
// with OCML_BASIC_ROUNDED_OPERATIONS, so that HIP declares __fadd_ru and the like.
#include <hip/hip_runtime.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// A negative index with an offset: compilers fold the offset, and LDS addresses wrap.
__global__ void lds_wrap(unsigned* out, const float*, int base) {
  extern __shared__ unsigned words[];
  for (unsigned i = threadIdx.x; i < 1024; i += 64) words[i] = i;
  __syncthreads();
  out[threadIdx.x] = words[base + static_cast<int>(threadIdx.x) + 512];
}
__global__ void lds_wrap_by_hand(unsigned* out, const float*, int) {
  extern __shared__ unsigned words[];
  words[threadIdx.x] = threadIdx.x;
  asm volatile("" : : "v"(words + threadIdx.x) : "memory");  // the assembly below reads them
  __syncthreads();
  unsigned at = threadIdx.x * 4 - 16, word;
  asm volatile("ds_read_b32 %0, %1 offset:16\n\ts_waitcnt lgkmcnt(0)" : "=v"(word) : "v"(at) : "memory");
  out[threadIdx.x] = word;
}
// Reads beyond the workgroup's LDS return 0: libraries clear registers in this way.
__global__ void lds_beyond(unsigned* out, const float*, int) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  unsigned long pair;
  unsigned at = threadIdx.x % 2 ? 252 : 0xf00000;
  asm volatile("ds_read2_b32 %0, %1 offset1:1\n\ts_waitcnt lgkmcnt(0)" : "=v"(pair) : "v"(at) : "memory");
  out[threadIdx.x] = static_cast<unsigned>(pair) ^ static_cast<unsigned>(pair >> 32) ^ words[threadIdx.x];
}
// Positions in a rotary embedding amount to many revolutions.
__global__ void sines(unsigned* out, const float* in, int) { out[threadIdx.x] = std::bit_cast<unsigned>(__sinf(in[threadIdx.x])); }
__global__ void cosines(unsigned* out, const float* in, int) { out[threadIdx.x] = std::bit_cast<unsigned>(__cosf(in[threadIdx.x])); }
// Denormals, as the compiler's options treat them.
__global__ void quarters(unsigned* out, const float* in, int) { out[threadIdx.x] = std::bit_cast<unsigned>(in[threadIdx.x] * 0.25f); }
__global__ void quotients(unsigned* out, const float* in, int) { out[threadIdx.x] = std::bit_cast<unsigned>(in[threadIdx.x] / 3.0f); }
__global__ void roots(unsigned* out, const float* in, int) { out[threadIdx.x] = std::bit_cast<unsigned>(sqrtf(in[threadIdx.x])); }

#define ROUNDED(NAME, FUNCTION)                                               \
  __global__ void NAME(unsigned* out, const float* in, int) {                 \
    out[threadIdx.x] = std::bit_cast<unsigned>(FUNCTION(in[threadIdx.x], 0.1f)); \
  }
ROUNDED(sums_up, __fadd_ru)
ROUNDED(sums_down, __fadd_rd)
ROUNDED(sums_toward_zero, __fadd_rz)
ROUNDED(products_up, __fmul_ru)
ROUNDED(products_down, __fmul_rd)

// The place of each wave: __smid(), XCC_ID and HW_ID, from its first lane. None ends before all have started.
__device__ unsigned started;
__global__ void places(unsigned* out, const float*, int) {
  unsigned xcc, id;
  asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(xcc));
  asm volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)" : "=s"(id));
  if (threadIdx.x == 0) atomicAdd(&started, 1);
  while (__hip_atomic_load(&started, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x) __builtin_amdgcn_s_sleep(1);
  if (threadIdx.x % 64) return;
  const unsigned wave = blockIdx.x * (blockDim.x / 64) + threadIdx.x / 64;
  out[3 * wave] = __smid();
  out[3 * wave + 1] = xcc;
  out[3 * wave + 2] = id;
}

struct Case {
  const char* name;
  void (*kernel)(unsigned*, const float*, int);
  unsigned groups = 1, threads = 64, lds = 0, results = 64;
  int argument = 0;
};

const Case kCases[] = {
    {.name = "lds_wrap", .kernel = lds_wrap, .lds = 4096, .argument = -512},
    {.name = "lds_wrap_by_hand", .kernel = lds_wrap_by_hand, .lds = 256},
    {"lds_beyond", lds_beyond},
    {"sines", sines},
    {"cosines", cosines},
    {"quarters", quarters},
    {"quotients", quotients},
    {"roots", roots},
    {"sums_up", sums_up},
    {"sums_down", sums_down},
    {"sums_toward_zero", sums_toward_zero},
    {"products_up", products_up},
    {"products_down", products_down},
    {"places", places, 640, 256, 0, 3 * 4 * 640},
};

// instructions NAME < 64 floats > results
int main(int, char** arguments) {
  float numbers[64] = {};
  if (fread(numbers, sizeof(float), 64, stdin) == 0) memset(numbers, 0, sizeof numbers);
  float* in;
  unsigned* out;
  for (const Case& one : kCases) {
    if (std::string(arguments[1]) != one.name) continue;
    std::vector<unsigned> results(one.results);
    if (hipMalloc(&in, sizeof numbers) != hipSuccess || hipMalloc(&out, results.size() * 4) != hipSuccess) return 2;
    if (hipMemcpy(in, numbers, sizeof numbers, hipMemcpyHostToDevice) != hipSuccess) return 2;
    one.kernel<<<one.groups, one.threads, one.lds>>>(out, in, one.argument);
    const hipError_t error = hipMemcpy(results.data(), out, results.size() * 4, hipMemcpyDeviceToHost);
    if (error != hipSuccess) return fprintf(stderr, "%s\n", hipGetErrorName(error)), 1;
    for (const unsigned word : results) printf("%08x\n", word);
  }
  return 0;
}
