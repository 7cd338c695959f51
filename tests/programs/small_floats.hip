// The header's 8-bit floats on the device and on the host: both must give the same bytes for every upper half of a float.
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

struct Results {
  unsigned char e4m3, e5m2;
  unsigned int from_e4m3, from_e5m2;  // bits
};

__host__ __device__ unsigned bits_of(float v) { return __builtin_bit_cast(unsigned, v); }

__host__ __device__ Results convert(unsigned bits) {
  const float v = __builtin_bit_cast(float, bits);
  const __hip_fp8_e4m3_fnuz a(v);
  const __hip_fp8_e5m2_fnuz b(v);
  return {a.__x, b.__x, bits_of(static_cast<float>(a)), bits_of(static_cast<float>(b))};
}

__global__ void convert_all(Results* out, unsigned low) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = convert(i << 16 | low);
}

// Which NaN is returned is not specified.
bool same_float(unsigned a, unsigned b) {
  const auto nan = [](unsigned bits) { return (bits & 0x7fffffff) > 0x7f800000; };
  return a == b || (nan(a) && nan(b));
}

// For smaller numbers, the header's host functions shift a 64-bit word by more bits than it has.
bool host_knows(unsigned bits) { return (bits & 0x7f800000) >= (127 - 60) << 23; }

int main() {
  constexpr int count = 1 << 16;
  std::vector<Results> got(count);
  Results* device;
  if (hipMalloc(&device, count * sizeof(Results)) != hipSuccess) return 2;
  for (unsigned low : {0u, 1u, 0x8000u, 0xffffu}) {
    convert_all<<<count / 256, 256>>>(device, low);
    if (hipMemcpy(got.data(), device, count * sizeof(Results), hipMemcpyDeviceToHost) != hipSuccess) return 2;
    for (unsigned i = 0; i < count; ++i) {
      if (!host_knows(i << 16 | low)) continue;
      const Results host = convert(i << 16 | low);
      if (got[i].e4m3 == host.e4m3 && got[i].e5m2 == host.e5m2 && same_float(got[i].from_e4m3, host.from_e4m3) &&
          same_float(got[i].from_e5m2, host.from_e5m2)) continue;
      std::printf("%08x: device %02x %02x %08x %08x, host %02x %02x %08x %08x\n", i << 16 | low, got[i].e4m3, got[i].e5m2,
                  got[i].from_e4m3, got[i].from_e5m2, host.e4m3, host.e5m2, host.from_e4m3, host.from_e5m2);
      return 1;
    }
  }
  std::puts("PASS");
}
