// vcopy: copies one array of doubles to another; the sample that rocprof-compute's own documentation profiles.
//
//   vcopy [-n elements] [-b threads per workgroup] [-i launches]        defaults: -n 1048576 -b 256 -i 3
//
// Shows: pure streaming. With the defaults a launch has 16384 waves, reads 8 MiB and writes 8 MiB, without arithmetic on
// the data: operational intensity 0. Each full wave executes 3 SALU, 6 VALU, 4 SMEM, 1 branch, 1 load and 1 store on
// gfx942 (clang -O3); the counters of an MI300X show the same, so it calibrates instruction counting.
#include "check.h"

// `b` and `stride` are unused in the original, too; they are kept because the kernarg layout and the symbol depend on them.
__global__ void vecCopy(double* a, [[maybe_unused]] double* b, double* c, int n, [[maybe_unused]] int stride) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < n) {
    c[id] = a[id];
  }
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "vcopy [-n elements] [-b threads per workgroup] [-i launches]");
  const int n = options.number("-n", 1048576, 1, 1 << 28);
  const int threads = options.number("-b", 256, 1, 1024);
  const int launches = options.number("-i", 3, 1, 1000000);
  options.finish();

  std::vector<double> source(n);
  for (int i = 0; i < n; ++i) source[i] = i + check::noise(i) * 0x1p-32;
  double* a = check::device_copy_of(source);
  double* b = check::device_array<double>(n);
  double* c = check::device_array<double>(n);
  HIP_OK(hipMemset(c, 0xff, n * sizeof(double)));

  const int workgroups = (n + threads - 1) / threads;
  for (int i = 0; i < launches; ++i) {
    vecCopy<<<workgroups, threads>>>(a, b, c, n, 1);
    LAUNCH_OK();
  }
  HIP_OK(hipDeviceSynchronize());

  const std::vector<double> copy = check::host_copy_of(c, n);
  for (int i = 0; i < n; ++i)
    if (std::memcmp(&copy[i], &source[i], sizeof(double)) != 0)
      check::fail("vcopy: element %d is %.17g, not %.17g", i, copy[i], source[i]);
  for (double* array : {a, b, c}) HIP_OK(hipFree(array));
  check::pass("vcopy n=%d threads=%d launches=%d checksum=%016llx", n, threads, launches,
              static_cast<unsigned long long>(check::checksum(copy.data(), n * sizeof(double))));
  return 0;
}
