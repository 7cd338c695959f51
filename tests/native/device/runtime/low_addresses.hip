// Host memory at any address at which a program has it: static arrays, the heap, registered or not.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

constexpr int kCount = 1 << 20;
static float in[kCount], out[kCount];

__global__ void twice(const float* from, float* to, int count) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) to[i] = from[i] * 2;
}

static bool doubled(const float* values, int count) {
  for (int i = 0; i < count; ++i)
    if (values[i] != 2.0f * i) return false;
  return true;
}

static void report(const char* what, const float* values, int count) {
  const hipError_t error = hipDeviceSynchronize();
  std::printf("%s: %s\n", what, error != hipSuccess ? hipGetErrorName(error) : doubled(values, count) ? "right" : "wrong");
}

int main() {
  for (int i = 0; i < kCount; ++i) in[i] = static_cast<float>(i);
  float *from, *to;
  if (hipMalloc(&from, sizeof in) != hipSuccess || hipMalloc(&to, sizeof in) != hipSuccess) return 1;
  if (hipMemcpy(from, in, sizeof in, hipMemcpyHostToDevice) != hipSuccess) return 1;
  twice<<<kCount / 256, 256>>>(from, to, kCount);
  if (hipMemcpy(out, to, sizeof in, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  report("copies of static arrays", out, kCount);

  twice<<<kCount / 256, 256>>>(in, out, kCount);
  report("static arrays", out, kCount);

  constexpr int kFew = 2000;
  auto* heap = static_cast<float*>(std::malloc(kFew * sizeof(float)));
  for (int i = 0; i < kFew; ++i) heap[i] = static_cast<float>(i);
  float* registered;
  if (hipHostRegister(heap, kFew * sizeof(float), hipHostRegisterMapped) != hipSuccess) return 1;
  if (hipHostGetDevicePointer(reinterpret_cast<void**>(&registered), heap, 0) != hipSuccess) return 1;
  twice<<<kFew / 250, 256>>>(registered, registered, kFew);
  report("the registered heap", heap, kFew);

  // The device's addresses must not stop the heap from growing.
  void* const end = sbrk(0);
  std::printf("the heap grows: %s\n", sbrk(1 << 30) == end ? "right" : "wrong");
}
