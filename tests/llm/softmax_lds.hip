// A row goes through LDS once: a lane loads and exponentiates its own elements, sums keep their order.
__device__ inline float row_maximum(const float* row, int cols) {
  float maximum = row[0];
  for (int k = 1; k < cols; ++k) maximum = __builtin_fmaxf(maximum, row[k]);
  return maximum;
}

__global__ __launch_bounds__(kWave) void softmax_naive(const float* in, float* out, int cols) {
  __shared__ float row[256], exps[256];
  const float* x = in + block_x() * cols;
  if (cols > 256) {
    const float maximum = row_maximum(x, cols);
    float sum = 0;
    for (int k = 0; k < cols; ++k) sum += __builtin_expf(x[k] - maximum);
    for (int i = lane_x(); i < cols; i += kWave) out[block_x() * cols + i] = __builtin_expf(x[i] - maximum) / sum;
    return;
  }
  for (int i = lane_x(); i < cols; i += kWave) row[i] = x[i];
  barrier();
  if (lane_x() >= cols) return;
  const float maximum = row_maximum(row, cols);
  for (int i = lane_x(); i < cols; i += kWave) exps[i] = __builtin_expf(row[i] - maximum);
  barrier();
  float sum = 0;
  for (int k = 0; k < cols; ++k) sum += exps[k];
  for (int i = lane_x(); i < cols; i += kWave) out[block_x() * cols + i] = exps[i] / sum;
}
