// Two kernels written the naive way, one after the other: a row-wise softmax, which dominates, and a matrix product.
// It declares what it needs of HIP itself, which reads and compiles in a fraction of the time.
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
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

constexpr int kWave = 64, kTile = 16;

__device__ inline int lane_x() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int lane_y() { return __builtin_amdgcn_workitem_id_y(); }
__device__ inline int block_x() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int block_y() { return __builtin_amdgcn_workgroup_id_y(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// A wave a row: each lane finds the row's maximum and sum for itself.
__global__ __launch_bounds__(kWave) void softmax_naive(const float* in, float* out, int cols) {
  const float* x = in + block_x() * cols;
  for (int i = lane_x(); i < cols; i += kWave) {
    float maximum = x[0];
    for (int k = 1; k < cols; ++k) maximum = __builtin_fmaxf(maximum, x[k]);
    float sum = 0;
    for (int k = 0; k < cols; ++k) sum += __builtin_expf(x[k] - maximum);
    out[block_x() * cols + i] = __builtin_expf(x[i] - maximum) / sum;
  }
}

// A thread an element.
__global__ __launch_bounds__(kTile* kTile) void gemm_naive(const float* a, const float* b, float* c, int n) {
  const int row = block_y() * kTile + lane_y();
  const int column = block_x() * kTile + lane_x();
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

constexpr int kRows = 16, kColumns = 256, kOrder = 96;

static float* on_device(const float* values, int count) {
  void* address;
  hipMalloc(&address, count * sizeof(float));
  if (values) hipMemcpy(address, values, count * sizeof(float), hipMemcpyHostToDevice);
  return static_cast<float*>(address);
}

int main() {
  static float in[kRows * kColumns], a[kOrder * kOrder], b[kOrder * kOrder], result[kOrder * kOrder];
  for (int i = 0; i < kRows * kColumns; ++i) in[i] = float(i * 7 % 31) / 8;
  for (int i = 0; i < kOrder * kOrder; ++i) a[i] = float(i % 13) - 6, b[i] = float(i % 7) - 3;
  float *device_in = on_device(in, kRows * kColumns), *probabilities = on_device(nullptr, kRows * kColumns);
  float *device_a = on_device(a, kOrder * kOrder), *device_b = on_device(b, kOrder * kOrder);
  float* product = on_device(nullptr, kOrder * kOrder);
  softmax_naive<<<kRows, kWave>>>(device_in, probabilities, kColumns);
  gemm_naive<<<dim3(kOrder / kTile, kOrder / kTile), dim3(kTile, kTile)>>>(device_a, device_b, product, kOrder);
  double total = 0;
  hipMemcpy(result, probabilities, sizeof(float) * kRows * kColumns, hipMemcpyDeviceToHost);
  for (int i = 0; i < kRows * kColumns; ++i) total += result[i] * (i % 5);
  hipMemcpy(result, product, sizeof(float) * kOrder * kOrder, hipMemcpyDeviceToHost);
  for (int i = 0; i < kOrder * kOrder; ++i) total += result[i] * (i % 5);
  printf("%.9g\n", total);
}
