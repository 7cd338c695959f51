// A program of any size, which it takes as `-n N`, with a useless store that an honest change takes out.
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
int atoi(const char* text);
int strcmp(const char* a, const char* b);
int hipFree(void* address);
}
constexpr int hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2;

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

__device__ inline int lane() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int block() { return __builtin_amdgcn_workgroup_id_x(); }

// out[i] = the sum of `width` numbers from in[i] on.
__global__ void sums(const float* in, float* out, int count, int width) {
  const int i = block() * 64 + lane();
  if (i >= count) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) {
    out[i] = sum;
    sum += in[i + k];
  }
  out[i] = sum;
}

int main(int argc, char** argv) {
  int width = 24;
  if (argc == 2 && !strcmp(argv[1], "--help")) return printf("usage: sized [-n N]\n  -n N  numbers to add up, default 24\n") < 0;
  if (argc == 3 && !strcmp(argv[1], "-n")) width = atoi(argv[2]);
  constexpr int count = 128;
  static float input[count + 4096], output[count];
  for (int i = 0; i < count + width; ++i) input[i] = (i * 37 % 101) * 0.25f - 12;
  void *in, *out;
  if (hipMalloc(&in, (count + width) * 4) || hipMalloc(&out, count * 4)) return 1;
  if (hipMemcpy(in, input, (count + width) * 4, hipMemcpyHostToDevice)) return 1;
  sums<<<2, 64>>>((float*)in, (float*)out, count, width);
  if (hipMemcpy(output, out, count * 4, hipMemcpyDeviceToHost)) return 1;
  printf("%.9g %.9g\n", output[0], output[count - 1]);
}
