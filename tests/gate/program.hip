// The program whose kernel the candidates of the gate's tests replace. Launched twice, on inputs of different size.
// It declares what it needs of HIP itself: the gate reads every candidate, and HIP's headers take a second each time.
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
int hipMemset(void* address, int value, unsigned long size);
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

constexpr int kRow = 64;

// out[row] = the sum of the row's squares, in order, times weight; first[row] = where the row's first positive number is.
__global__ void rows(const float* in, float* out, int* first, float* work, int count, int width, float weight) {
  __shared__ float staged[4][kRow];
  const int row = block() * 4 + lane() / 64, column = lane() % 64;
  staged[lane() / 64][column] = row < count && column < width ? in[row * width + column] : 0;
  barrier();
  if (row >= count || column != 0) return;
  float sum = 0;
  int found = -1;
  for (int i = 0; i < width; ++i) {
    const float x = staged[lane() / 64][i];
    sum += x * x;
    if (found < 0 && x > 0) found = i;
  }
  out[row] = sum * weight;
  first[row] = found;
}

static void launch(int count, int width, float weight, unsigned seed) {
  float input[64 * 64];
  for (int i = 0; i < count * width; ++i) seed = seed * 1664525 + 1013904223, input[i] = float(int(seed >> 9) % 2001 - 1000) / 250;
  float *in, *out, *work;
  int* first;
  if (hipMalloc((void**)&in, count * width * 4) || hipMalloc((void**)&out, count * 4) || hipMalloc((void**)&first, count * 4) ||
      hipMalloc((void**)&work, 4096) || hipMemset(work, 0, 4096) || hipMemset(out, 0, count * 4) ||
      hipMemcpy(in, input, count * width * 4, hipMemcpyHostToDevice))
    printf("out of memory\n");
  rows<<<(count + 3) / 4, 256>>>(in, out, first, work, count, width, weight);
  float last = 0;
  if (hipMemcpy(&last, out + count - 1, 4, hipMemcpyDeviceToHost)) printf("the copy failed\n");
  printf("%g\n", last);
}

int main() {
  launch(50, 40, 0.5f, 1);
  launch(33, 64, 2.0f, 7);
}
