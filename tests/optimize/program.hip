// Three kernels for the optimizer: one that unrolling helps, one that it does not, and one that it must not touch.
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
int hipMemset(void* address, int value, unsigned long size);
int hipMemcpy(void* target, const void* source, unsigned long size, int kind);
int printf(const char* format, ...);
}
constexpr int hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2;

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

__device__ inline int lane() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int index() { return __builtin_amdgcn_workgroup_id_x() * 64 + lane(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// sums[row] = the sum of the row's numbers, a thread a row: each load waits for nothing but itself.
__global__ void sum_rows(const float* in, float* sums, int rows, int columns) {
  const int row = index();
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += in[row * columns + i];
  sums[row] = sum;
}

// ends[k] = where the walk from k is after `steps`: each load needs the one before.
__global__ void walk(const int* next, int* ends, int count, int steps) {
  int place = index();
  if (place >= count) return;
  for (int i = 0; i < steps; ++i) place = next[place];
  ends[index()] = place;
}

// Waves meet in each round.
__global__ void rounds(float* values, int count) {
  __shared__ float shared[64];
  for (int i = 0; i < count; ++i) {
    shared[(lane() + i) % 64] = values[index()];
    barrier();
    values[index()] += shared[lane()];
    barrier();
  }
}

constexpr int kRows = 128, kColumns = 48;

int main() {
  static float numbers[kRows * kColumns], sums[kRows];
  static int next[kRows], ends[kRows];
  for (int i = 0; i < kRows * kColumns; ++i) numbers[i] = (i * 37 % 101) * 0.25f - 12;
  for (int i = 0; i < kRows; ++i) next[i] = (i * 5 + 3) % kRows;
  void *device_numbers, *device_sums, *device_next, *device_ends;
  hipMalloc(&device_numbers, sizeof numbers);
  hipMalloc(&device_sums, sizeof sums);
  hipMalloc(&device_next, sizeof next);
  hipMalloc(&device_ends, sizeof ends);
  hipMemcpy(device_numbers, numbers, sizeof numbers, hipMemcpyHostToDevice);
  hipMemcpy(device_next, next, sizeof next, hipMemcpyHostToDevice);
  sum_rows<<<2, 64>>>(static_cast<float*>(device_numbers), static_cast<float*>(device_sums), kRows, kColumns);
  walk<<<2, 64>>>(static_cast<int*>(device_next), static_cast<int*>(device_ends), kRows, 12);
  rounds<<<1, 64>>>(static_cast<float*>(device_numbers), 8);
  hipMemcpy(sums, device_sums, sizeof sums, hipMemcpyDeviceToHost);
  hipMemcpy(ends, device_ends, sizeof ends, hipMemcpyDeviceToHost);
  double total = 0;
  int places = 0;
  for (int i = 0; i < kRows; ++i) total += sums[i] * (i + 1), places += ends[i] * (i + 1);
  printf("%.9g %d\n", total, places);
}
