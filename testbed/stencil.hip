// stencil: a 7-point stencil over a 3D grid of doubles, with a square root and a division per point.
//
//   stencil [-n edge] [--steps N]                                                   defaults: -n 96 --steps 2
//
// Each step computes, for every inner point, the mean of its six neighbours divided by sqrt(1 + centre^2); points on
// the border keep their values. Two grids are swapped between steps. A thread goes through several planes in z, point by
// point: unrolling that loop would let it load for several points at once.
//
// Shows: fp64 on the vector unit. Seven loads and one store of 8 bytes per point, of which six loads should hit in
// cache (neighbours in x are in the same line, those in y and z were read by the workgroup or by a nearby one): 16
// bytes per point from memory. sqrt and division together take about 40 fp64 operations. Expected: bound by fp64
// VALU and latency while the grid fits in L2, and near the ridge of the fp64 roofline (3 to 4 FLOPs per byte) when
// it does not (-n 512).
//
// All operations are correctly rounded (IEEE 754) and their order is the same on the CPU, without contraction to
// fused operations: results must be bit-identical.
#include "check.h"

#include <cmath>

#pragma clang fp contract(off)

constexpr int kBlockX = 64, kBlockY = 4;
constexpr int kDepth = 8;  // planes per thread

__host__ __device__ inline double updated(double centre, double west, double east, double south, double north,
                                          double below, double above) {
  const double mean = (west + east + south + north + below + above) * (1.0 / 6.0);
  return mean / sqrt(1.0 + centre * centre);
}

__global__ __launch_bounds__(kBlockX* kBlockY) void stencil_step(const double* __restrict__ in,
                                                                            double* __restrict__ out, int n) {
  const int x = blockIdx.x * kBlockX + threadIdx.x;
  const int y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= n || y >= n) return;
  const size_t row = n, plane = row * n;
  const bool edge = x == 0 || y == 0 || x == n - 1 || y == n - 1;
  const int first = blockIdx.z * kDepth, end = min(n, first + kDepth);
  for (int z = first; z < end; ++z) {
    const size_t i = z * plane + y * row + x;
    // A border point counts as its own neighbour, so that no load depends on the point's position.
    const bool border = edge || z == 0 || z == n - 1;
    const size_t dx = border ? 0 : 1, dy = border ? 0 : row, dz = border ? 0 : plane;
    const double value = updated(in[i], in[i - dx], in[i + dx], in[i - dy], in[i + dy], in[i - dz], in[i + dz]);
    out[i] = border ? in[i] : value;
  }
}

static std::vector<double> reference_step(const std::vector<double>& in, int n) {
  std::vector<double> out = in;
  const size_t row = n, plane = row * n;
  for (int z = 1; z < n - 1; ++z)
    for (int y = 1; y < n - 1; ++y)
      for (int x = 1; x < n - 1; ++x) {
        const size_t i = z * plane + y * row + x;
        out[i] = updated(in[i], in[i - 1], in[i + 1], in[i - row], in[i + row], in[i - plane], in[i + plane]);
      }
  return out;
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "stencil [-n edge] [--steps N]");
  const int n = options.number("-n", 96, 3, 1024);
  const int steps = options.number("--steps", 2, 1, 1000000);
  options.finish();

  const size_t points = static_cast<size_t>(n) * n * n;
  std::vector<double> want(points);
  for (size_t i = 0; i < points; ++i) want[i] = check::noise(i) * 0x1p-30 - 2.0 + check::noise(~i) * 0x1p-62;  // [-2, 2)
  double* from = check::device_copy_of(want);
  double* to = check::device_array<double>(points);
  HIP_OK(hipMemset(to, 0xff, points * sizeof(double)));  // NaN, so that an unwritten point is detected

  const dim3 groups((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY, (n + kDepth - 1) / kDepth), threads(kBlockX, kBlockY);
  for (int step = 0; step < steps; ++step) {
    stencil_step<<<groups, threads>>>(from, to, n);
    std::swap(from, to);
    want = reference_step(want, n);
  }
  LAUNCH_OK();
  HIP_OK(hipDeviceSynchronize());

  const std::vector<double> got = check::host_copy_of(from, points);
  const size_t edge = n;
  for (size_t i = 0; i < points; ++i)
    if (!(got[i] == want[i]))
      check::fail("stencil: point (%zu, %zu, %zu) is %.17g, not %.17g", i % edge, i / edge % edge, i / edge / edge,
                  got[i], want[i]);
  HIP_OK(hipFree(from));
  HIP_OK(hipFree(to));
  check::pass("stencil n=%d steps=%d checksum=%016llx", n, steps,
              static_cast<unsigned long long>(check::checksum(got.data(), points * sizeof(double))));
  return 0;
}
