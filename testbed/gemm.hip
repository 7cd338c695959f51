// gemm: C = A B for square row-major matrices; each kernel uses more of the machine than the one before.
//
//   gemm [-n order] [--kernel naive|lds|mfma|tiled|all] [--repeats N]      defaults: -n 192 --kernel all --repeats 1
//
// The order must be a multiple of 16.
//
// gemm_naive  one thread per element, fp32: 2n floats loaded for 2n FLOPs. Expected: bound by the caches (every
//             element of A and B is loaded n times), the slowest per FLOP.
// gemm_lds    16 x 16 tiles of A and B in LDS: 1/16 of the loads, two LDS reads per multiply-add. Expected: bound by LDS
//             and faster than naive if n is large enough to fill the machine (--kernel lds -n 1024).
// gemm_mfma   one wave per 16 x 16 tile, v_mfma_f32_16x16x16_f16: fp16 inputs, fp32 sums; 8192 FLOPs per instruction.
//             Expected: by far the fewest instructions; bound by the supply of operands, as it keeps no tile in LDS.
//             GPUs without matrix instructions (RDNA 2) compute the same with plain ones.
// gemm_tiled  only on demand: BLOCK_M x BLOCK_N elements per workgroup in steps of BLOCK_K, of which THREAD_M x THREAD_N per
//             thread, in registers; these can be tuned (-DBLOCK_M=128 ...). The order must be a multiple of all three.
// Ranking by time at n >= 128: mfma < lds < naive.
//
// Inputs are multiples of 1/8 in [-1, 1), so that every product is a multiple of 1/64 and every sum up to n = 16384
// is exact in fp32, whatever its order: the results must equal the CPU's bit for bit.
#include "check.h"

constexpr int kTile = 16;

// The tuning parameters of gemm_lds: -DGEMM_LDS_TILE=8, 16 or 32 (the order must be a multiple), -DGEMM_LDS_UNROLL=1...
#ifndef GEMM_LDS_TILE
#define GEMM_LDS_TILE 16
#endif
constexpr int kLdsTile = GEMM_LDS_TILE;

#ifndef BLOCK_M
#define BLOCK_M 32
#endif
#ifndef BLOCK_N
#define BLOCK_N 32
#endif
#ifndef BLOCK_K
#define BLOCK_K 16
#endif
#ifndef THREAD_M
#define THREAD_M 2
#endif
#ifndef THREAD_N
#define THREAD_N 2
#endif
constexpr int kTiledThreads = BLOCK_M / THREAD_M * (BLOCK_N / THREAD_N);
static_assert(BLOCK_M % THREAD_M == 0 && BLOCK_N % THREAD_N == 0, "a thread's part must divide the workgroup's");

using Half4 = _Float16 __attribute__((ext_vector_type(4)));
using Float4 = float __attribute__((ext_vector_type(4)));

__global__ __launch_bounds__(kTile* kTile) void gemm_naive(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ __launch_bounds__(kLdsTile* kLdsTile) void gemm_lds(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kLdsTile][kLdsTile];
  __shared__ float tile_b[kLdsTile][kLdsTile];
  const int row = blockIdx.y * kLdsTile + threadIdx.y;
  const int column = blockIdx.x * kLdsTile + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < n; start += kLdsTile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + start + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * n + column];
    __syncthreads();
#ifdef GEMM_LDS_UNROLL
#pragma unroll GEMM_LDS_UNROLL
#endif
    for (int k = 0; k < kLdsTile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();  // the next tiles overwrite these
  }
  c[row * n + column] = sum;
}

__global__ __launch_bounds__(kTiledThreads) void gemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[BLOCK_K][BLOCK_M + 1];  // padded: a column of A becomes a row, in different banks
  __shared__ float tile_b[BLOCK_K][BLOCK_N];
  constexpr int across = BLOCK_N / THREAD_N;
  const int thread_row = threadIdx.x / across, thread_column = threadIdx.x % across;
  const int row = blockIdx.y * BLOCK_M, column = blockIdx.x * BLOCK_N;
  float sums[THREAD_M][THREAD_N] = {};
  for (int start = 0; start < n; start += BLOCK_K) {
    for (int i = threadIdx.x; i < BLOCK_M * BLOCK_K; i += kTiledThreads)
      tile_a[i % BLOCK_K][i / BLOCK_K] = a[(row + i / BLOCK_K) * n + start + i % BLOCK_K];
    for (int i = threadIdx.x; i < BLOCK_K * BLOCK_N; i += kTiledThreads)
      tile_b[i / BLOCK_N][i % BLOCK_N] = b[(start + i / BLOCK_N) * n + column + i % BLOCK_N];
    __syncthreads();
    for (int k = 0; k < BLOCK_K; ++k)
#pragma unroll
      for (int y = 0; y < THREAD_M; ++y)
#pragma unroll
        for (int x = 0; x < THREAD_N; ++x)
          sums[y][x] += tile_a[k][thread_row + y * (BLOCK_M / THREAD_M)] * tile_b[k][thread_column + x * across];
    __syncthreads();  // the next tiles overwrite these
  }
#pragma unroll
  for (int y = 0; y < THREAD_M; ++y)
#pragma unroll
    for (int x = 0; x < THREAD_N; ++x)
      c[(row + thread_row + y * (BLOCK_M / THREAD_M)) * n + column + thread_column + x * across] = sums[y][x];
}

#ifdef __GFX9__
static __device__ Float4 multiply_tiles(Half4 left, Half4 right, Float4 sum) {
  return __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
}
#else
// Each thread needs what the others hold.
static __device__ Float4 multiply_tiles(Half4 left, Half4 right, Float4 sum) {
  __shared__ Half4 lefts[64], rights[64];
  lefts[threadIdx.x] = left;
  rights[threadIdx.x] = right;
  __syncthreads();
  const int across = threadIdx.x % kTile, group = threadIdx.x / kTile * 4;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < kTile; ++k)
      sum[i] += static_cast<float>(lefts[k / 4 * kTile + group + i][k % 4]) *
                static_cast<float>(rights[k / 4 * kTile + across][k % 4]);
  __syncthreads();
  return sum;
}
#endif

// Lane l of the wave holds A[l % 16][4 (l / 16) + i] and B[4 (l / 16) + i][l % 16] of each 16 x 16 tile, and
// of the result C[4 (l / 16) + i][l % 16] (AMD matrix instruction calculator, v_mfma_f32_16x16x16_f16).
__global__ __launch_bounds__(64) void gemm_mfma(const _Float16* a, const _Float16* b, float* c, int n) {
  const int across = threadIdx.x % kTile;
  const int group = threadIdx.x / kTile * 4;
  const int row = blockIdx.y * kTile;
  const int column = blockIdx.x * kTile;
  Float4 sum = {0, 0, 0, 0};
  for (int k = 0; k < n; k += kTile) {
    const Half4 left = *reinterpret_cast<const Half4*>(a + (row + across) * n + k + group);
    const _Float16* below = b + (k + group) * n + column + across;
    const Half4 right = {below[0], below[n], below[2 * n], below[3 * n]};
    sum = multiply_tiles(left, right, sum);
  }
  float* out = c + (row + group) * n + column + across;
  out[0] = sum.x;
  out[n] = sum.y;
  out[2 * n] = sum.z;
  out[3 * n] = sum.w;
}

static std::vector<float> matrix(int n, uint64_t which) {
  std::vector<float> values(static_cast<size_t>(n) * n);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(check::noise(which << 40 | i) % 16) - 8) / 8.0f;
  return values;
}

static std::vector<_Float16> halves(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

static std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int n) {
  std::vector<float> c(a.size(), 0.0f);
  for (int row = 0; row < n; ++row)
    for (int k = 0; k < n; ++k)
      for (int column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
  return c;
}

// Compares with the reference and prints the verdict with the checksum of the bits.
static void verify(const char* kernel, const float* device, const std::vector<float>& want, int n) {
  const std::vector<float> got = check::host_copy_of(device, want.size());
  for (size_t i = 0; i < want.size(); ++i)
    if (!(got[i] == want[i]))  // written so that a NaN fails
      check::fail("%s: row %zu column %zu is %.9g, not %.9g", kernel, i / n, i % n, got[i], want[i]);
  check::pass("%s n=%d checksum=%016llx", kernel, n,
              static_cast<unsigned long long>(check::checksum(got.data(), got.size() * sizeof(float))));
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "gemm [-n order] [--kernel naive|lds|mfma|tiled|all] [--repeats N]");
  const int n = options.number("-n", 192, 16, 16384);
  const int repeats = options.number("--repeats", 1, 1, 1000000);
  const std::string kernel = options.text("--kernel", "all");
  if (kernel != "naive" && kernel != "lds" && kernel != "mfma" && kernel != "tiled" && kernel != "all")
    options.wrong("--kernel", "is naive, lds, mfma, tiled or all");
  if (n % kTile) options.wrong("-n", "must be a multiple of 16");
  if (n % kLdsTile) options.wrong("-n", "must be a multiple of GEMM_LDS_TILE");
  if (kernel == "tiled" && (n % BLOCK_M || n % BLOCK_N || n % BLOCK_K))
    options.wrong("-n", "must be a multiple of BLOCK_M, BLOCK_N and BLOCK_K");
  options.finish();

  const std::vector<float> a = matrix(n, 1), b = matrix(n, 2);
  const std::vector<float> want = product(a, b, n);
  float* device_a = check::device_copy_of(a);
  float* device_b = check::device_copy_of(b);
  _Float16* half_a = check::device_copy_of(halves(a));
  _Float16* half_b = check::device_copy_of(halves(b));
  float* device_c = check::device_array<float>(want.size());

  const auto run = [&](const char* name, auto&& launch) {
    HIP_OK(hipMemset(device_c, 0xff, want.size() * sizeof(float)));  // NaN, so that an unwritten element is detected
    for (int i = 0; i < repeats; ++i) launch();
    LAUNCH_OK();
    HIP_OK(hipDeviceSynchronize());
    verify(name, device_c, want, n);
  };
  const dim3 tiles(n / kTile, n / kTile), threads(kTile, kTile);
  if (kernel == "naive" || kernel == "all")
    run("gemm_naive", [&] { gemm_naive<<<tiles, threads>>>(device_a, device_b, device_c, n); });
  if (kernel == "lds" || kernel == "all")
    run("gemm_lds", [&] { gemm_lds<<<dim3(n / kLdsTile, n / kLdsTile), dim3(kLdsTile, kLdsTile)>>>(device_a, device_b, device_c, n); });
  if (kernel == "mfma" || kernel == "all")
    run("gemm_mfma", [&] { gemm_mfma<<<tiles, 64>>>(half_a, half_b, device_c, n); });
  if (kernel == "tiled")
    run("gemm_tiled", [&] { gemm_tiled<<<dim3(n / BLOCK_N, n / BLOCK_M), kTiledThreads>>>(device_a, device_b, device_c, n); });

  for (float* array : {device_a, device_b, device_c}) HIP_OK(hipFree(array));
  for (_Float16* array : {half_a, half_b}) HIP_OK(hipFree(array));
  return 0;
}
