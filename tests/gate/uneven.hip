// A kernel in which workgroups can be made to differ, and whose waves need a barrier.
extern "C" {
typedef struct ihipStream_t* hipStream_t;
typedef enum { hipSuccess } hipError_t;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, unsigned long lds, hipStream_t stream);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds = 0, hipStream_t stream = nullptr);
unsigned __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* lds, hipStream_t* stream);
int hipMalloc(void** address, unsigned long size);
int hipMemcpy(void* target, const void* source, unsigned long size, int kind);
int printf(const char* format, ...);
}
constexpr int hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2;

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

__device__ inline int lane() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int block() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

constexpr int kThreads = 512;

// Each thread sums `width` numbers of its row, times those of a table.
__global__ void rows(const float* in, float* out, int count, int width) {
  __shared__ float table[kThreads];
  table[lane()] = in[lane()] * 0.125f;
  barrier();
  const int row = block() * kThreads + lane();
  if (row >= count) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) {
    out[row] = sum;  // useless
    sum += in[row * width + i] * table[i * 64];
  }
  out[row] = sum;
}

int main() {
  constexpr int groups = 64, count = groups * kThreads, width = 8;
  static float input[count * width], output[count];
  unsigned seed = 1;
  for (float& x : input) seed = seed * 1664525 + 1013904223, x = float(int(seed >> 9) % 2001 - 1000) / 250;
  float *in, *out;
  if (hipMalloc((void**)&in, sizeof input) || hipMalloc((void**)&out, sizeof output) ||
      hipMemcpy(in, input, sizeof input, hipMemcpyHostToDevice))
    printf("out of memory\n");
  rows<<<groups, kThreads>>>(in, out, count, width);
  if (hipMemcpy(output, out, sizeof output, hipMemcpyDeviceToHost)) printf("copy\n");
  printf("%a\n", output[7]);
  return 0;
}
