// Of the first kernel buffers lie apart in dispatch 0, overlap in dispatch 1, and share what is only read in dispatch 2.
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
#define __global__ __attribute__((global))

// One lane works its way up: where `out` overlaps `in` behind it, it reads what it wrote.
__global__ void shift(const float* in, const float* weight, float* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] * weight[0] + 1;
}

// Each thread has a place of its own where n is as large as the workgroup; where it is smaller, the last to write there wins.
__global__ void wrapped(float* out, int n) {
  const int i = __builtin_amdgcn_workitem_id_x();
  out[i % n] = i * 0.5f;
}

static void launch(const float* in, const float* weight, float* out, int n) {
  shift<<<1, 64>>>(in, weight, out, n);
  float last = 0;
  if (hipMemcpy(&last, out + n - 1, 4, 2)) printf("the copy failed\n");
  printf("%g\n", last);
}

int main() {
  float content[256];
  for (int i = 0; i < 256; ++i) content[i] = (i * 29 % 101) * 0.25f - 7;
  void *a, *b, *c;
  if (hipMalloc(&a, 1024) || hipMalloc(&b, 1024) || hipMalloc(&c, 1024) || hipMemcpy(a, content, 1024, 1) ||
      hipMemcpy(b, content, 1024, 1) || hipMemcpy(c, content, 1024, 1))
    printf("no memory\n");
  launch((float*)a, (float*)b + 3, (float*)c, 40);
  launch((float*)a, (float*)b + 3, (float*)a + 4, 40);
  launch((float*)a, (float*)a + 200, (float*)c, 40);
  wrapped<<<1, 256>>>((float*)b, 256);
}
