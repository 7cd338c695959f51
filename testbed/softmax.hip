// softmax_testbed: row-wise softmax of a rows x cols float matrix, in a slow and in a better way.
//
//   softmax_testbed [--rows R] [--cols C] [--kernel naive|lds|both] [--repeats N]
//                                                                     defaults: 1024 x 512, both, 1
//
// softmax_naive  one thread per row, three passes over it (maximum, sum, write). Neighbouring lanes read addresses
//                `cols` floats apart, so a wave's load touches 64 cache lines for 256 useful bytes, and the grid has
//                only rows/64 waves to hide the latency with. Expected: the dominant kernel, on the critical path,
//                memory- or latency-bound, every element read three times.
// softmax_lds    one workgroup of 128 threads per row: coalesced loads, tree reductions in LDS. Expected: many times
//                faster with the same results up to rounding.
//
// Both are checked against a double-precision CPU reference. The bound is the usual one for summing `cols` floats in
// any order, (cols + 32) epsilon relative: 32 covers expf, the division and the rounding of x - max.
#include "check.h"

#include <cfloat>
#include <cmath>

constexpr int kLdsThreads = 128;
constexpr int kNaiveThreads = 256;

__global__ void softmax_naive(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* x = in + static_cast<size_t>(row) * cols;
  float* y = out + static_cast<size_t>(row) * cols;

  float maximum = x[0];
  for (int i = 1; i < cols; ++i) maximum = fmaxf(maximum, x[i]);
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) sum += expf(x[i] - maximum);
  for (int i = 0; i < cols; ++i) y[i] = expf(x[i] - maximum) / sum;
}

// Leaves combine() over all threads' values in scratch[0] and returns it to every thread.
template <typename Combine>
__device__ float reduce(float value, float* scratch, Combine combine) {
  const int thread = threadIdx.x;
  scratch[thread] = value;
  __syncthreads();
  for (int half = kLdsThreads / 2; half > 0; half /= 2) {
    if (thread < half) scratch[thread] = combine(scratch[thread], scratch[thread + half]);
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();  // the next reduction overwrites scratch
  return result;
}

__global__ __launch_bounds__(kLdsThreads) void softmax_lds(const float* in, float* out, int cols) {
  __shared__ float scratch[kLdsThreads];
  const float* x = in + static_cast<size_t>(blockIdx.x) * cols;
  float* y = out + static_cast<size_t>(blockIdx.x) * cols;

  float maximum = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += kLdsThreads) maximum = fmaxf(maximum, x[i]);
  maximum = reduce(maximum, scratch, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kLdsThreads) sum += expf(x[i] - maximum);
  sum = reduce(sum, scratch, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < cols; i += kLdsThreads) y[i] = expf(x[i] - maximum) / sum;
}

static std::vector<double> reference(const std::vector<float>& in, int rows, int cols) {
  std::vector<double> out(in.size());
  for (int row = 0; row < rows; ++row) {
    const float* x = in.data() + static_cast<size_t>(row) * cols;
    double* y = out.data() + static_cast<size_t>(row) * cols;
    double maximum = x[0], sum = 0;
    for (int i = 1; i < cols; ++i) maximum = std::fmax(maximum, x[i]);
    for (int i = 0; i < cols; ++i) sum += std::exp(x[i] - maximum);
    for (int i = 0; i < cols; ++i) y[i] = std::exp(x[i] - maximum) / sum;
  }
  return out;
}

// Compares with the reference and returns the checksum of the bits.
static uint64_t verify(const char* kernel, const float* device, const std::vector<double>& want, int cols) {
  const std::vector<float> got = check::host_copy_of(device, want.size());
  const double bound = (cols + 32) * static_cast<double>(FLT_EPSILON);
  for (size_t i = 0; i < want.size(); ++i)
    // written so that a NaN fails
    if (!(std::fabs(got[i] - want[i]) <= bound * want[i] + FLT_MIN))
      check::fail("%s: row %zu column %zu is %.9g, not %.9g", kernel, i / cols, i % cols, got[i], want[i]);
  return check::checksum(got.data(), got.size() * sizeof(float));
}

int main(int argc, char** argv) {
  check::Options options(argc, argv,
                         "softmax_testbed [--rows R] [--cols C] [--kernel naive|lds|both] [--repeats N]");
  const int rows = options.number("--rows", 1024, 1, 1 << 20);
  const int cols = options.number("--cols", 512, 1, 1 << 16);
  const int repeats = options.number("--repeats", 1, 1, 1000000);
  const std::string kernel = options.text("--kernel", "both");
  if (kernel != "naive" && kernel != "lds" && kernel != "both") options.wrong("--kernel", "is naive, lds or both");
  options.finish();

  const size_t elements = static_cast<size_t>(rows) * cols;
  std::vector<float> in(elements);
  for (size_t i = 0; i < elements; ++i) in[i] = static_cast<float>(check::noise(i) * 0x1p-28 - 8.0);  // [-8, 8)
  const std::vector<double> want = reference(in, rows, cols);
  const float* device_in = check::device_copy_of(in);
  float* device_out = check::device_array<float>(elements);

  const auto run = [&](const char* name, auto&& launch) {
    HIP_OK(hipMemset(device_out, 0xff, elements * sizeof(float)));  // NaN, so that an unwritten element is detected
    for (int i = 0; i < repeats; ++i) launch();
    LAUNCH_OK();
    HIP_OK(hipDeviceSynchronize());
    const uint64_t sum = verify(name, device_out, want, cols);
    check::pass("%s rows=%d cols=%d checksum=%016llx", name, rows, cols, static_cast<unsigned long long>(sum));
  };
  if (kernel != "lds")
    run("softmax_naive", [&] {
      softmax_naive<<<(rows + kNaiveThreads - 1) / kNaiveThreads, kNaiveThreads>>>(device_in, device_out, rows, cols);
    });
  if (kernel != "naive")
    run("softmax_lds", [&] { softmax_lds<<<rows, kLdsThreads>>>(device_in, device_out, cols); });

  HIP_OK(hipFree(const_cast<float*>(device_in)));
  HIP_OK(hipFree(device_out));
  return 0;
}
