// pipeline: two streams that hand work to each other through events.
//
//   pipeline [-n elements a chunk] [-c chunks] [-b threads per workgroup]      defaults: -n 65536 -c 3 -b 256
//
// Each chunk, with its own buffers:
//
//   stream A   copy x in -> scale ---------------------------+-> (event: combined) -> block_sums -> copy sums out
//                             \ (event: scaled)             /
//   stream B   copy y in -> shift -> (wait scaled) -> combine -> copy z out
//
// Shows: dependencies within a stream, across streams by hipEventRecord and hipStreamWaitEvent, and overlap (scale
// with shift; one chunk's tail with the next one's head). The copies are asynchronous from and to pinned memory. All
// values are whole numbers small enough to be exact in float, so the results must be bit-exact. The elapsed times
// between events go to stderr.
#include "check.h"

constexpr float kScale = 3.0f, kShift = 17.0f;
constexpr int kShiftRounds = 8;

__global__ void scale(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= kScale;
}

// Deliberately longer than `scale`, so that the two streams do not run in step.
__global__ void shift(float* y, int n, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = y[i];
  for (int round = 0; round < rounds; ++round) value += kShift;
  y[i] = value;
}

__global__ void combine(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] * 2.0f + y[i];
}

// sums[workgroup] = the sum of the workgroup's elements of z. Needs blockDim.x floats of LDS, blockDim.x a power of 2.
__global__ void block_sums(const float* z, float* sums, int n) {
  extern __shared__ float partial[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < n ? z[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

struct Chunk {
  float *x, *y, *z, *sums;                          // device
  float *host_x, *host_y, *host_z, *host_sums;      // pinned
  hipEvent_t start, scaled, combined, end;
};

static float* pinned_array(size_t elements) {
  float* pointer = nullptr;
  HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&pointer), elements * sizeof(float)));
  return pointer;
}

// Whole numbers below 256: a sum over 1024 elements of 2*3*255 + 255 + 8*17 stays below 2^24.
static float input(int chunk, int i, int which) {
  return static_cast<float>(check::noise((static_cast<uint64_t>(chunk) * 2 + which) << 32 | i) & 255);
}

static Chunk make_chunk(int index, int n, int workgroups) {
  Chunk chunk{};
  for (float** array : {&chunk.x, &chunk.y, &chunk.z}) *array = check::device_array<float>(n);
  for (float** array : {&chunk.host_x, &chunk.host_y, &chunk.host_z}) *array = pinned_array(n);
  chunk.sums = check::device_array<float>(workgroups);
  chunk.host_sums = pinned_array(workgroups);
  for (hipEvent_t* event : {&chunk.start, &chunk.scaled, &chunk.combined, &chunk.end}) HIP_OK(hipEventCreate(event));
  for (int i = 0; i < n; ++i) {
    chunk.host_x[i] = input(index, i, 0);
    chunk.host_y[i] = input(index, i, 1);
    chunk.host_z[i] = -1.0f;
  }
  return chunk;
}

static void submit(const Chunk& chunk, int n, int threads, int workgroups, hipStream_t a, hipStream_t b) {
  const size_t bytes = n * sizeof(float);
  HIP_OK(hipEventRecord(chunk.start, a));
  HIP_OK(hipMemcpyAsync(chunk.x, chunk.host_x, bytes, hipMemcpyHostToDevice, a));
  scale<<<workgroups, threads, 0, a>>>(chunk.x, n);
  HIP_OK(hipEventRecord(chunk.scaled, a));

  HIP_OK(hipMemcpyAsync(chunk.y, chunk.host_y, bytes, hipMemcpyHostToDevice, b));
  shift<<<workgroups, threads, 0, b>>>(chunk.y, n, kShiftRounds);
  HIP_OK(hipStreamWaitEvent(b, chunk.scaled, 0));
  combine<<<workgroups, threads, 0, b>>>(chunk.x, chunk.y, chunk.z, n);
  HIP_OK(hipEventRecord(chunk.combined, b));
  HIP_OK(hipMemcpyAsync(chunk.host_z, chunk.z, bytes, hipMemcpyDeviceToHost, b));

  HIP_OK(hipStreamWaitEvent(a, chunk.combined, 0));
  block_sums<<<workgroups, threads, threads * sizeof(float), a>>>(chunk.z, chunk.sums, n);
  HIP_OK(hipMemcpyAsync(chunk.host_sums, chunk.sums, workgroups * sizeof(float), hipMemcpyDeviceToHost, a));
  HIP_OK(hipEventRecord(chunk.end, a));
  LAUNCH_OK();
}

static uint64_t verify(const Chunk& chunk, int index, int n, int threads, int workgroups) {
  std::vector<float> sums(workgroups, 0.0f);
  for (int i = 0; i < n; ++i) {
    const float want = input(index, i, 0) * kScale * 2.0f + input(index, i, 1) + kShift * kShiftRounds;
    if (chunk.host_z[i] != want)
      check::fail("pipeline: chunk %d element %d is %.9g, not %.9g", index, i, chunk.host_z[i], want);
    sums[i / threads] += want;
  }
  for (int i = 0; i < workgroups; ++i)
    if (chunk.host_sums[i] != sums[i])
      check::fail("pipeline: chunk %d sum %d is %.9g, not %.9g", index, i, chunk.host_sums[i], sums[i]);
  return check::checksum(chunk.host_z, n * sizeof(float)) * 31 +
         check::checksum(chunk.host_sums, workgroups * sizeof(float));
}

static void release(Chunk& chunk) {
  for (hipEvent_t event : {chunk.start, chunk.scaled, chunk.combined, chunk.end}) HIP_OK(hipEventDestroy(event));
  for (float* array : {chunk.x, chunk.y, chunk.z, chunk.sums}) HIP_OK(hipFree(array));
  for (float* array : {chunk.host_x, chunk.host_y, chunk.host_z, chunk.host_sums}) HIP_OK(hipHostFree(array));
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "pipeline [-n elements a chunk] [-c chunks] [-b threads per workgroup]");
  const int n = options.number("-n", 65536, 1, 1 << 24);
  const int count = options.number("-c", 3, 1, 64);
  const int threads = options.number("-b", 256, 1, 1024);
  if (threads & (threads - 1)) options.wrong("-b", "must be a power of 2");
  options.finish();
  const int workgroups = (n + threads - 1) / threads;

  hipStream_t a, b;
  HIP_OK(hipStreamCreate(&a));
  HIP_OK(hipStreamCreate(&b));
  std::vector<Chunk> chunks;
  for (int i = 0; i < count; ++i) chunks.push_back(make_chunk(i, n, workgroups));
  for (const Chunk& chunk : chunks) submit(chunk, n, threads, workgroups, a, b);
  HIP_OK(hipStreamSynchronize(a));
  HIP_OK(hipStreamSynchronize(b));

  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    float scaled = 0, total = 0;
    HIP_OK(hipEventElapsedTime(&scaled, chunks[i].start, chunks[i].scaled));
    HIP_OK(hipEventElapsedTime(&total, chunks[i].start, chunks[i].end));
    std::fprintf(stderr, "chunk %d: scaled after %.4f ms, done after %.4f ms\n", i, scaled, total);
    // At least one kernel lies between the two, so this detects a device whose clock stands still.
    if (!(scaled >= 0 && total > scaled))
      check::fail("pipeline: chunk %d: event times out of order: scaled %g ms, end %g ms", i, scaled, total);
    sum = sum * 31 + verify(chunks[i], i, n, threads, workgroups);
  }
  for (Chunk& chunk : chunks) release(chunk);
  HIP_OK(hipStreamDestroy(a));
  HIP_OK(hipStreamDestroy(b));
  check::pass("pipeline n=%d chunks=%d threads=%d checksum=%016llx", n, count, threads,
              static_cast<unsigned long long>(sum));
  return 0;
}
