__global__ __launch_bounds__(kTile* kTile) void gemm_naive(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = block_y() * kTile + lane_y();
  const int column = block_x() * kTile + lane_x();
  float sum = 0;
  for (int start = 0; start < n; start += kTile) {
    if (row < n && start + lane_x() < n) tile_a[lane_y()][lane_x()] = a[row * n + start + lane_x()];
    if (start + lane_y() < n && column < n) tile_b[lane_y()][lane_x()] = b[(start + lane_y()) * n + column];
    barrier();
    if (n - start >= kTile) {
#pragma unroll
      for (int k = 0; k < kTile; ++k) sum = __builtin_fmaf(tile_a[lane_y()][k], tile_b[k][lane_x()], sum);
    } else {
      for (int k = 0; k < n - start; ++k) sum = __builtin_fmaf(tile_a[lane_y()][k], tile_b[k][lane_x()], sum);
    }
    barrier();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
