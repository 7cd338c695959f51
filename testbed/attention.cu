// attention: forward pass of one attention head, softmax(Q K^T / sqrt(d)) V, in fp32. HIP source in a file that ends
// in .cu, as ported CUDA code often keeps it (hipcc -x hip).
//
//   attention [--length L] [--dim D] [--kernel three|fused|both] [--repeats N]     defaults: 128, 64, both, 1
//
// three  three kernels with the L x L scores in memory between them:
//        attention_scores   one thread per score; d multiply-adds on rows of Q and K. Neighbouring lanes read rows of K
//                           that are d floats apart: many lines per load. Expected: the longest of the three.
//        attention_softmax  one wave per row, shuffles for maximum and sum. Expected: short, bound by latency.
//        attention_values   one thread per output, coalesced reads of V.
//        Each depends on the one before: all three lie on the critical path.
// fused  attention_fused: one workgroup of 64 threads per query; the row of scores stays in LDS. Expected: one dispatch
//        and less memory traffic; the same results up to rounding.
//
// Checked against a double-precision CPU reference; the bound is (L + d + 64) epsilon of the largest |V|.
#include "check.h"

#include <cfloat>
#include <cmath>

constexpr int kThreads = 256;
constexpr int kWave = 64;
constexpr int kMaximumLength = 4096;  // a row of scores must fit in LDS

__global__ void attention_scores(const float* q, const float* k, float* scores, int length, int dim, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length * length) return;
  const float* query = q + i / length * dim;
  const float* key = k + i % length * dim;
  float sum = 0.0f;
  for (int d = 0; d < dim; ++d) sum += query[d] * key[d];
  scores[i] = sum * scale;
}

__device__ float wave_maximum(float value) {
  for (int distance = kWave / 2; distance > 0; distance /= 2) value = fmaxf(value, __shfl_xor(value, distance));
  return value;
}

__device__ float wave_sum(float value) {
  for (int distance = kWave / 2; distance > 0; distance /= 2) value += __shfl_xor(value, distance);
  return value;
}

// Replaces a row by its softmax; the whole wave works on one row.
__device__ void softmax_row(float* row, int length) {
  float maximum = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < length; i += kWave) maximum = fmaxf(maximum, row[i]);
  maximum = wave_maximum(maximum);
  for (int i = threadIdx.x; i < length; i += kWave) sum += row[i] = expf(row[i] - maximum);
  sum = wave_sum(sum);
  for (int i = threadIdx.x; i < length; i += kWave) row[i] /= sum;
}

__global__ __launch_bounds__(kWave) void attention_softmax(float* scores, int length) {
  softmax_row(scores + static_cast<size_t>(blockIdx.x) * length, length);
}

__global__ void attention_values(const float* weights, const float* v, float* out, int length, int dim) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length * dim) return;
  const float* row = weights + static_cast<size_t>(i / dim) * length;
  float sum = 0.0f;
  for (int j = 0; j < length; ++j) sum += row[j] * v[j * dim + i % dim];
  out[i] = sum;
}

__global__ __launch_bounds__(kWave) void attention_fused(const float* q, const float* k, const float* v, float* out,
                                                         int length, int dim, float scale) {
  extern __shared__ float row[];
  const float* query = q + static_cast<size_t>(blockIdx.x) * dim;
  for (int j = threadIdx.x; j < length; j += kWave) {
    float sum = 0.0f;
    for (int d = 0; d < dim; ++d) sum += query[d] * k[j * dim + d];
    row[j] = sum * scale;
  }
  __syncthreads();
  softmax_row(row, length);
  __syncthreads();
  for (int d = threadIdx.x; d < dim; d += kWave) {
    float sum = 0.0f;
    for (int j = 0; j < length; ++j) sum += row[j] * v[j * dim + d];
    out[static_cast<size_t>(blockIdx.x) * dim + d] = sum;
  }
}

static std::vector<float> matrix(int length, int dim, uint64_t which) {
  std::vector<float> values(static_cast<size_t>(length) * dim);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(check::noise(which << 40 | i) * 0x1p-31 - 1.0);  // [-1, 1)
  return values;
}

static std::vector<double> reference(const std::vector<float>& q, const std::vector<float>& k,
                                     const std::vector<float>& v, int length, int dim) {
  std::vector<double> out(q.size(), 0.0), weights(length);
  for (int i = 0; i < length; ++i) {
    double total = 0.0;
    for (int j = 0; j < length; ++j) {
      double sum = 0.0;
      for (int d = 0; d < dim; ++d) sum += static_cast<double>(q[i * dim + d]) * k[j * dim + d];
      total += weights[j] = std::exp(sum / std::sqrt(static_cast<double>(dim)));  // |sum| <= dim: no overflow
    }
    for (int j = 0; j < length; ++j)
      for (int d = 0; d < dim; ++d) out[i * dim + d] += weights[j] / total * v[j * dim + d];
  }
  return out;
}

static void verify(const char* kernel, const float* device, const std::vector<double>& want, int length, int dim) {
  const std::vector<float> got = check::host_copy_of(device, want.size());
  const double bound = (length + dim + 64) * static_cast<double>(FLT_EPSILON);
  for (size_t i = 0; i < want.size(); ++i)
    if (!(std::fabs(got[i] - want[i]) <= bound))  // written so that a NaN fails
      check::fail("%s: query %zu dimension %zu is %.9g, not %.9g", kernel, i / dim, i % dim, got[i], want[i]);
  check::pass("%s length=%d dim=%d checksum=%016llx", kernel, length, dim,
              static_cast<unsigned long long>(check::checksum(got.data(), got.size() * sizeof(float))));
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "attention [--length L] [--dim D] [--kernel three|fused|both] [--repeats N]");
  const int length = options.number("--length", 128, 1, kMaximumLength);
  const int dim = options.number("--dim", 64, 1, 256);
  const int repeats = options.number("--repeats", 1, 1, 1000000);
  const std::string kernel = options.text("--kernel", "both");
  if (kernel != "three" && kernel != "fused" && kernel != "both") options.wrong("--kernel", "is three, fused or both");
  options.finish();

  const std::vector<float> q = matrix(length, dim, 1), k = matrix(length, dim, 2), v = matrix(length, dim, 3);
  const std::vector<double> want = reference(q, k, v, length, dim);
  float* device_q = check::device_copy_of(q);
  float* device_k = check::device_copy_of(k);
  float* device_v = check::device_copy_of(v);
  float* scores = check::device_array<float>(static_cast<size_t>(length) * length);
  float* out = check::device_array<float>(want.size());
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  const auto groups = [](int threads) { return (threads + kThreads - 1) / kThreads; };

  const auto run = [&](const char* name, auto&& launch) {
    HIP_OK(hipMemset(out, 0xff, want.size() * sizeof(float)));  // NaN, so that an unwritten element is detected
    for (int i = 0; i < repeats; ++i) launch();
    LAUNCH_OK();
    HIP_OK(hipDeviceSynchronize());
    verify(name, out, want, length, dim);
  };
  if (kernel != "fused")
    run("attention_three", [&] {
      attention_scores<<<groups(length * length), kThreads>>>(device_q, device_k, scores, length, dim, scale);
      attention_softmax<<<length, kWave>>>(scores, length);
      attention_values<<<groups(length * dim), kThreads>>>(scores, device_v, out, length, dim);
    });
  if (kernel != "three")
    run("attention_fused", [&] {
      attention_fused<<<length, kWave, length * sizeof(float)>>>(device_q, device_k, device_v, out, length, dim, scale);
    });

  for (float* array : {device_q, device_k, device_v, scores, out}) HIP_OK(hipFree(array));
  return 0;
}
