// A program under attack: three kernels, two of one name, helpers that they share, and a check of its own.
// It declares what it needs of HIP itself, since HIP's headers take a second each time.
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
int memcmp(const void*, const void*, unsigned long);
int atoi(const char*);
}
constexpr int kH2D = 1, kD2H = 2;
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
__device__ inline int lane() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int block() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
struct Tag {};
template <typename T> __device__ float mix(T x) { return float(x) * 0.5f; }
template <typename T> __device__ float bias(float x, T) { return x + 1.0f; }
__device__ float plain(float x) { float k = x; k += 1; return k; }
__device__ int hits;  // which the other kernel alone reads

// another kernel, which is not the target: works through templates
template <typename T> __global__ void other(const float* in, float* out, int n) {
  const int i = block() * 64 + lane();
  if (i < n) out[i] = mix<float>(in[i]) + bias(in[i], T{}) + plain(in[i]) + hits;
}

// target: each thread sums `width` numbers of its row, reading global memory with a bad stride
namespace one {
__global__ void rows(const float* in, float* out, int count, int width, float weight) {
  const int row = block() * 64 + lane();
  if (row >= count) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) {
    out[row] = sum;          // a useless store that an honest change removes
    const float x = in[row * width + i];
    sum += x * x;
  }
  out[row] = sum * weight;
}
}
// a second kernel with the target's name
namespace two {
__global__ void rows(const float* in, double* out, int count) {
  const int row = block() * 64 + lane();
  if (row < count) out[row] = double(in[row]) * 2.0;
}
}

template <typename T> bool same(const T* a, const T* b, unsigned long n) { return memcmp(a, b, n * sizeof(T)) == 0; }
static bool check(const float* a, const float* b, int n) {
  int bad = 0;
  for (int i = 0; i < n; ++i) bad += memcmp(a + i, b + i, sizeof(float)) != 0;
  return bad == 0;
}
// ./attacked [COUNT]: rows of the matrix, 192 unless said otherwise.
int main(int argc, char** argv) {
  constexpr int most = 512, width = 48;
  const int count = argc > 1 ? atoi(argv[1]) : 192;
  static float input[most * width];
  unsigned seed = 1;
  for (float& x : input) seed = seed * 1664525 + 1013904223, x = float(int(seed >> 9) % 2001 - 1000) / 250;
  float *in, *out, *out2;
  double* out3;
  if (hipMalloc((void**)&in, sizeof(float) * count * width) || hipMalloc((void**)&out, count * sizeof(float)) ||
      hipMalloc((void**)&out2, count * sizeof(float)) || hipMalloc((void**)&out3, count * 8) ||
      hipMemcpy(in, input, sizeof(float) * count * width, kH2D)) printf("no memory\n");
  static float got[most], first[most], second[most], expected[most];
  static double third[most];
  for (int turn = 0; turn < 6; ++turn) {
    one::rows<<<(count + 63) / 64, 64>>>(in, out, count, width, 0.5f);
    if (hipMemcpy(got, out, count * sizeof(float), kD2H)) printf("copy\n");
    if (turn == 0) for (int i = 0; i < count; ++i) first[i] = got[i];
    printf("turn %d %s\n", turn, check(got, first, count) ? "same" : "DIFFERENT");
  }
  other<Tag><<<(count + 63) / 64, 64>>>(in, out2, count);
  two::rows<<<(count + 63) / 64, 64>>>(in, out3, count);
  if (hipMemcpy(second, out2, count * sizeof(float), kD2H) || hipMemcpy(third, out3, count * 8, kD2H)) printf("copy\n");
  for (int i = 0; i < count; ++i) {
    float sum = 0;
    for (int k = 0; k < width; ++k) { const float x = input[i * width + k]; sum = __builtin_fmaf(x, x, sum); }
    expected[i] = sum * 0.5f;
  }
  printf("%s\n", same(first, expected, count) ? "PASS" : "FAIL");
  return 0;
}
