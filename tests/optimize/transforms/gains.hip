// Kernels that one transformation each makes faster, and that the compiler cannot fix by itself; each is launched once.
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

__device__ inline int lane() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int block() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

constexpr int kTile = 32, kThreads = 256;

// lds_padding. A tile of 32 x 32 numbers is written by rows and read by columns: half a wave reads from one bank.
__global__ void transpose(const float* in, float* out, int order) {
  __shared__ float tile[kTile][kTile];
  const int across = order / kTile, top = block() / across * kTile, left = block() % across * kTile;
  const int column = lane() % kTile, first = lane() / kTile;
  for (int row = first; row < kTile; row += kThreads / kTile) tile[row][column] = in[(top + row) * order + left + column];
  barrier();
  for (int row = first; row < kTile; row += kThreads / kTile) out[(left + row) * order + top + column] = tile[column][row];
}

// restrict. Each store may change `scale` and the next `in`, as far as the compiler knows: their loads wait for it, and of
// eight rows at a time only the tests are saved.
__global__ void scaled(const float* in, const float* scale, float* out, int rows, int width) {
  const int column = block() * kThreads + lane();
#pragma unroll 8
  for (int row = 0; row < rows; ++row) out[row * width + column] = in[row * width + column] * scale[0] + scale[1];
}

// hoist. The lines' coefficients stay the same, but each store may change them, as far as the compiler knows.
__global__ void lines(const float* offset, const float* slope, float* out, int rows, int width) {
  const int column = block() * kThreads + lane();
  for (int row = 0; row < rows; ++row) out[row * width + column] = offset[column] + row * slope[column];
}

// vector. As far as the compiler knows, each store may change the next element that is loaded: it makes four loads, one by one.
__global__ void quads(const float* in, float* out, float weight) {
  const int i = (block() * kThreads + lane()) * 4;
  out[i] = in[i] * weight;
  out[i + 1] = in[i + 1] + weight;
  out[i + 2] = in[i + 2] - weight;
  out[i + 3] = weight / in[i + 3];
}

// launch_bounds. With workgroups of up to 1024 threads a thread gets 128 registers, and some of the sums are spilled; LDS lets a
// CU hold two workgroups anyway.
constexpr int kSums = 144, kTable = 8192;
__global__ void blocked(const float* in, float* out, int depth) {
  __shared__ float table[kTable];
  for (int i = lane(); i < kTable; i += kThreads) table[i] = in[i];
  barrier();
  float sums[kSums] = {};
  for (int k = 0; k < depth; ++k) {
    const float x = table[(k * 64 + lane()) % kTable];
#pragma unroll
    for (int j = 0; j < kSums; ++j) sums[j] += x * table[k * kSums % kTable + j];
  }
#pragma unroll
  for (int j = 0; j < kSums; ++j) out[j * kThreads + lane()] = sums[j];
}

template <typename T>
T* device_array(const T* content, int count) {
  void* array;
  if (hipMalloc(&array, count * sizeof(T)) || hipMemcpy(array, content, count * sizeof(T), hipMemcpyHostToDevice)) printf("no\n");
  return static_cast<T*>(array);
}

template <typename T>
void print(const char* kernel, const T* array, int count) {
  static T content[1 << 16];
  if (hipMemcpy(content, array, count * sizeof(T), hipMemcpyDeviceToHost)) printf("no\n");
  unsigned long h = 14695981039346656037ul;
  for (unsigned long i = 0; i < count * sizeof(T); ++i) h = (h ^ reinterpret_cast<unsigned char*>(content)[i]) * 1099511628211ul;
  printf("%s %016lx\n", kernel, h);
}

bool same(const char* a, const char* b) { return *a == *b && (!*a || same(a + 1, b + 1)); }

// gains [KERNEL [SIZE]], SIZE from 1 to 4 (default)
int main(int argc, char** argv) {
  const auto wanted = [&](const char* kernel) { return argc < 2 || same(argv[1], kernel); };
  const int size = argc < 3 ? 4 : argv[2][0] - '0', order = 64 * size, rows = 16 * size;
  if (size < 1 || size > 4) return printf("SIZE is from 1 to 4\n"), 2;
  static float numbers[1 << 16];
  for (int i = 0; i < 1 << 16; ++i) numbers[i] = (i * 37 % 1013) * 0.25f - 12;
  float* in = device_array(numbers, 1 << 16);
  float* out = device_array(numbers, 1 << 16);
  const auto print_out = [&](const char* kernel) { print(kernel, out, 1 << 16); };
  if (wanted("transpose")) transpose<<<order / kTile * (order / kTile), kThreads>>>(in, out, order), print_out("transpose");
  if (wanted("scaled")) scaled<<<4, kThreads>>>(in, device_array(numbers + 7, 2), out, rows, 1024), print_out("scaled");
  if (wanted("lines")) lines<<<4, kThreads>>>(in, device_array(numbers + 5000, 1024), out, rows, 1024), print_out("lines");
  if (wanted("quads")) quads<<<16 * size, kThreads>>>(in, out, 0.75f), print_out("quads");
  if (wanted("blocked")) blocked<<<1, kThreads>>>(in, out, 12 * size + 2), print_out("blocked");
}
