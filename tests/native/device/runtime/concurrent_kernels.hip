// Kernels in two streams, each alone and then both at a time. Prints microseconds: "alone A B", "together A B", counted from
// the common start.
//     concurrent_kernels KIND:WORKGROUPS:LOOPS KIND:WORKGROUPS:LOOPS    (KIND: fma or stream)
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) \
  if (hipError_t error = (call)) std::exit((std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)), 1))

constexpr int kThreads = 256;

__global__ void fma(float* out, int loops) {
  float a[8] = {};
  for (int i = 0; i < loops; ++i)
    for (float& x : a) x = x * 1.5f + threadIdx.x;
  float sum = 0;
  for (float x : a) sum += x;
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Each workgroup reads numbers that no other reads.
__global__ void stream(const float4* in, float* out, int loops) {
  float4 sum{};
  const float4* mine = in + static_cast<size_t>(blockIdx.x) * loops * kThreads + threadIdx.x;
#pragma unroll 8
  for (int i = 0; i < loops; ++i) {
    const float4 x = mine[i * kThreads];
    sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum.x + sum.y + sum.z + sum.w;
}

struct Work {
  char kind[8];
  int groups, loops;
  float4* in = nullptr;
  float* out;
  hipStream_t queue;
  hipEvent_t end;

  explicit Work(const char* text) {
    if (std::sscanf(text, "%7[a-z]:%d:%d", kind, &groups, &loops) != 3) std::exit(2);
    if (streams()) CHECK(hipMalloc(&in, sizeof(float4) * groups * kThreads * loops));
    CHECK(hipMalloc(&out, sizeof(float) * groups * kThreads));
    CHECK(hipStreamCreate(&queue));
    CHECK(hipEventCreate(&end));
  }
  bool streams() const { return !std::strcmp(kind, "stream"); }
  void launch() {
    if (streams()) stream<<<groups, kThreads, 0, queue>>>(in, out, loops);
    else fma<<<groups, kThreads, 0, queue>>>(out, loops);
    CHECK(hipEventRecord(end, queue));
  }
};

int main(int, char** arguments) {
  Work a(arguments[1]), b(arguments[2]);
  hipEvent_t begin;
  CHECK(hipEventCreate(&begin));
  float of_a, of_b;
  const auto measure = [&](auto... all) {
    CHECK(hipDeviceSynchronize());
    CHECK(hipEventRecord(begin, a.queue));
    (all->launch(), ...);
    CHECK(hipDeviceSynchronize());
  };
  measure(&a, &b);
  measure(&a);
  CHECK(hipEventElapsedTime(&of_a, begin, a.end));
  measure(&b);
  CHECK(hipEventElapsedTime(&of_b, begin, b.end));
  std::printf("alone %.3f %.3f\n", of_a * 1e3, of_b * 1e3);
  measure(&a, &b);
  CHECK(hipEventElapsedTime(&of_a, begin, a.end));
  CHECK(hipEventElapsedTime(&of_b, begin, b.end));
  std::printf("together %.3f %.3f\n", of_a * 1e3, of_b * 1e3);
}
