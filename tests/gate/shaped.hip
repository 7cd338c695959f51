// Kernels whose launches the candidates of test_launch_change.py change. It declares what it needs of HIP itself, as
// program.hip does.
extern "C" {
typedef struct ihipStream_t* hipStream_t;
typedef enum { hipSuccess } hipError_t;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, unsigned long lds,
                           hipStream_t stream);
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
__device__ inline int size() { return __builtin_amdgcn_workgroup_size_x(); }
__device__ inline int of_lane(int value, int other) { return __builtin_amdgcn_ds_bpermute(other * 4, value); }

#define ROWS_BLOCK 64
constexpr int kMapBlock = 128;

// out[row] = the sum of the row's numbers, one thread per row.
__global__ void sums(const int* in, int* out, int rows, int width) {
  const int row = block() * size() + lane();
  if (row >= rows) return;
  int sum = 0;
  for (int i = 0; i < width; ++i) sum += in[row * width + i];
  out[row] = sum;
}

__global__ void doubled(const float* in, float* out, int n) {
  const int i = block() * size() + lane();
  if (i < n) out[i] = in[i] * 2;
}

static void fill(void* target, unsigned count) {
  static unsigned numbers[1 << 14];
  for (unsigned i = 0, seed = 1; i < count; ++i) seed = seed * 1664525 + 1013904223, numbers[i] = 0x3f000000 | seed >> 9;
  if (hipMemcpy(target, numbers, count * 4, hipMemcpyHostToDevice)) printf("the copy failed\n");
}

static void launch(const int rows, int width, int n) {
  int *in, *out;
  float *from, *to;
  // More memory than the kernels use, so that a thread too many does not fault.
  if (hipMalloc((void**)&in, 1 << 16) || hipMalloc((void**)&out, 1 << 12) || hipMalloc((void**)&from, 1 << 14) ||
      hipMalloc((void**)&to, 1 << 14) || hipMemset(out, 0, 1 << 12) || hipMemset(to, 0, 1 << 14))
    printf("out of memory\n");
  fill(in, 1 << 14), fill(from, 1 << 12);
  sums<<<(rows + ROWS_BLOCK - 1) / ROWS_BLOCK, ROWS_BLOCK>>>(in, out, rows, width);
  const dim3 grid((n + kMapBlock - 1) / kMapBlock), threads(kMapBlock);
  doubled<<<grid, threads>>>(from, to, n);
}

int main() { launch(48, 40, 1000); }
