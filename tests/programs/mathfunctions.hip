// mathfunctions: device arithmetic that programs rely on, compared with the host.
//
//   mathfunctions
//
// Mathematical functions of AMD's device library in fp64 and fp32 are compared with the host's libm (computed in long
// double for fp64 and in double for fp32) within the bound listed with each, in units in the last place. fp16
// arithmetic, integer intrinsics, cross-lane operations, packed fp32 and atomics have exact references.
//
// Exit codes and output as in testbed/check.h.
#include "../../testbed/check.h"

#include <hip/hip_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>

constexpr int kValues = 1024;
constexpr int kWave = 64;

// ---- functions of one and two arguments ----

// Distance in units in the last place of T at `want`; equal infinities and NaNs have none.
template <typename T, typename Wide>
double ulps(T got, Wide want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  const T nearest = static_cast<T>(want);
  if (got == nearest) return 0;
  if (std::isinf(got) || std::isinf(nearest)) return INFINITY;
  const T magnitude = std::max(std::fabs(nearest), std::numeric_limits<T>::min());
  const T unit = magnitude - std::nextafter(magnitude, T(0));
  return static_cast<double>(std::fabs((static_cast<Wide>(got) - want) / static_cast<Wide>(unit)));
}

template <typename T, typename Function>
__global__ void apply(const T* x, const T* y, T* out, Function function) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = function(x[i], y[i]);
}

// Values in [low, high], preceded by special ones if `specials` is set.
template <typename T>
std::vector<T> arguments(double low, double high, bool specials, uint64_t which) {
  constexpr T special[] = {T(0), T(-0.0), T(1), T(-1), std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::min(), std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()};
  std::vector<T> values(kValues);
  for (int i = 0; i < kValues; ++i) values[i] = static_cast<T>(low + (high - low) * check::noise(which << 32 | i) * 0x1p-32);
  if (specials) std::copy(std::begin(special), std::end(special), values.begin());
  return values;
}

static uint64_t total_checksum = 0;

static void add_to_checksum(const void* data, size_t bytes) {
  total_checksum = total_checksum * 31 + check::checksum(data, bytes);
}

template <typename T, typename Wide, typename Device, typename Host>
void compare(const char* name, double bound, double low, double high, bool specials, Device device, Host host) {
  const std::vector<T> x = arguments<T>(low, high, specials, 1), y = arguments<T>(low, high, false, 2);
  T* device_x = check::device_copy_of(x);
  T* device_y = check::device_copy_of(y);
  T* device_out = check::device_array<T>(kValues);
  apply<<<kValues / 256, 256>>>(device_x, device_y, device_out, device);
  LAUNCH_OK();
  HIP_OK(hipDeviceSynchronize());
  const std::vector<T> got = check::host_copy_of(device_out, kValues);
  for (int i = 0; i < kValues; ++i) {
    const Wide want = host(static_cast<Wide>(x[i]), static_cast<Wide>(y[i]));
    const double distance = ulps(got[i], want);
    if (!(distance <= bound))
      check::fail("%s<%s>(%.17g, %.17g) is %.17g, not %.17g: %.3g ulp, more than %g", name, sizeof(T) == 8 ? "double" : "float",
                  static_cast<double>(x[i]), static_cast<double>(y[i]), static_cast<double>(got[i]),
                  static_cast<double>(want), distance, bound);
  }
  for (T* array : {device_x, device_y, device_out}) HIP_OK(hipFree(array));
  add_to_checksum(got.data(), kValues * sizeof(T));
}

// FUNCTION(name, bound in ulp of fp32, of fp64, lowest and highest argument, also special values)
#define FUNCTION(name, bound_float, bound_double, low, high, specials)                                                \
  compare<float, double>(                                                                                             \
      #name, bound_float, low, high, specials, [] __device__(float x, float) { return name##f(x); },                  \
      [](double x, double) { return std::name(x); });                                                                 \
  compare<double, long double>(                                                                                       \
      #name, bound_double, low, high, specials, [] __device__(double x, double) { return name(x); },                  \
      [](long double x, long double) { return std::name(x); })

#define FUNCTION2(name, bound_float, bound_double, low, high)                                                         \
  compare<float, double>(                                                                                             \
      #name, bound_float, low, high, false, [] __device__(float x, float y) { return name##f(x, y); },                \
      [](double x, double y) { return std::name(x, y); });                                                            \
  compare<double, long double>(                                                                                       \
      #name, bound_double, low, high, false, [] __device__(double x, double y) { return name(x, y); },                \
      [](long double x, long double y) { return std::name(x, y); })

// The bounds are this test's own: a few ulp, which a wrong instruction exceeds by far. Square root, division, fma, fmod
// and roundings must be exact.
static void functions() {
  FUNCTION(sin, 2, 2, -100, 100, true);
  FUNCTION(cos, 2, 2, -100, 100, true);
  FUNCTION(sin, 2, 2, -1e7, 1e7, false);  // large arguments take another path (Payne and Hanek)
  FUNCTION(tan, 3, 2, -100, 100, true);
  FUNCTION(atan, 2, 2, -100, 100, true);
  FUNCTION(tanh, 3, 2, -4, 4, true);
  FUNCTION(exp, 2, 2, -80, 80, true);
  FUNCTION(exp2, 2, 2, -120, 120, true);
  FUNCTION(log, 2, 2, 1e-3, 1e6, true);
  FUNCTION(log2, 2, 2, 1e-3, 1e6, true);
  FUNCTION(log10, 2, 2, 1e-3, 1e6, true);
  FUNCTION(log1p, 2, 2, -0.5, 10, true);
  FUNCTION(cbrt, 2, 2, -1e6, 1e6, true);
  FUNCTION(erf, 4, 2, -3, 3, true);
  FUNCTION(floor, 0, 0, -1e4, 1e4, true);
  FUNCTION(rint, 0, 0, -1e4, 1e4, true);
  FUNCTION2(pow, 2, 2, 0.01, 20);
  FUNCTION2(atan2, 3, 2, -10, 10);
  FUNCTION2(hypot, 2, 2, -1e3, 1e3);
  FUNCTION2(fmod, 0, 0, -1e3, 1e3);
  // Exact operations are compared in their own precision: a wider one would round twice.
  compare<float, float>("sqrt", 0, 0, 1e6, true, [] __device__(float x, float) { return sqrtf(x); },
                        [](float x, float) { return std::sqrt(x); });
  compare<double, double>("sqrt", 0, 0, 1e6, true, [] __device__(double x, double) { return sqrt(x); },
                          [](double x, double) { return std::sqrt(x); });
  compare<float, float>("division", 0, -1e3, 1e3, true, [] __device__(float x, float y) { return x / y; },
                        [](float x, float y) { return x / y; });
  compare<double, double>("division", 0, -1e3, 1e3, true, [] __device__(double x, double y) { return x / y; },
                          [](double x, double y) { return x / y; });
  compare<double, double>("fma", 0, -1e3, 1e3, true, [] __device__(double x, double y) { return fma(x, y, x); },
                          [](double x, double y) { return std::fma(x, y, x); });
  compare<float, float>("rcp", 1, 1e-3, 1e3, false, [] __device__(float x, float) { return __builtin_amdgcn_rcpf(x); },
                        [](float x, float) { return 1 / x; });
}

// ---- one wave or one workgroup against an exact reference ----

template <typename T, typename Kernel>
std::vector<T> results(Kernel kernel, int groups, int threads, size_t count) {
  T* out = check::device_array<T>(count);
  HIP_OK(hipMemset(out, 0, count * sizeof(T)));
  kernel<<<groups, threads>>>(out);
  LAUNCH_OK();
  HIP_OK(hipDeviceSynchronize());
  const std::vector<T> got = check::host_copy_of(out, count);
  HIP_OK(hipFree(out));
  add_to_checksum(got.data(), count * sizeof(T));
  return got;
}

template <typename T>
void expect(const char* what, size_t index, T got, T want) {
  if (!(got == want)) check::fail("%s: %zu is %.17g, not %.17g", what, index, static_cast<double>(got), static_cast<double>(want));
}

__host__ __device__ inline uint32_t mixed(uint32_t i) { return (i + 1) * 2654435761u ^ i << 7; }

// Element `which` of lane l at out[which * kWave + l].
__global__ void lane_operations(uint64_t* out) {
  const uint32_t lane = threadIdx.x, value = mixed(lane);
  int which = 0;
  const auto put = [&](uint64_t result) { out[which++ * kWave + lane] = result; };
  put(__ballot(value & 1));
  put(__popcll(static_cast<uint64_t>(value) << 20 | lane));
  put(__ffs(static_cast<int>(value & 0xff00)));
  put(__ffsll(static_cast<unsigned long long>(value) << 32));
  put(__clz(static_cast<int>(value >> lane % 32)));
  put(__clzll(static_cast<long long>(value)));
  put(__brev(value));
  put(__brevll(value));
  put(__umulhi(value, mixed(lane + 1)));
  put(__umul64hi(static_cast<uint64_t>(value) << 32 | lane, mixed(lane + 2) * 0x100000001ull));
  put(static_cast<uint32_t>(__shfl(static_cast<int>(value), static_cast<int>(kWave - 1 - lane))));
  put(static_cast<uint32_t>(__shfl_up(static_cast<int>(value), 3)));
  put(static_cast<uint32_t>(__shfl_down(static_cast<int>(value), 5)));
  put(static_cast<uint32_t>(__shfl_xor(static_cast<int>(value), 21)));
  put(static_cast<uint32_t>(__shfl(static_cast<int>(value), 2, 16)));
  put(static_cast<uint64_t>(__shfl_xor(static_cast<long long>(value) << 31, 1)));
  put(__builtin_amdgcn_readfirstlane(static_cast<int>(value & 0xffff)));
  put(static_cast<uint32_t>(__builtin_amdgcn_update_dpp(7, static_cast<int>(value), 0x111, 0xf, 0xf, false)));  // row_shr:1
  put(static_cast<uint32_t>(__builtin_amdgcn_update_dpp(7, static_cast<int>(value), 0x141, 0xf, 0xf, true)));   // row_half_mirror
  put(static_cast<uint32_t>(__builtin_amdgcn_ds_swizzle(static_cast<int>(value), 0x041f)));  // xor 1 in groups of 32
  put(__builtin_amdgcn_perm(value, mixed(lane + 3), 0x07020500));
  put(__builtin_amdgcn_sad_u8(value, mixed(lane + 4), 5));
  put(__builtin_amdgcn_ubfe(value, 5, 9));
  put(__builtin_amdgcn_alignbyte(value, mixed(lane + 5), 3));
  put(__all(value != 0) | __any(value == mixed(5)) << 1);
  if (lane % 3 == 0) put(__ballot(1));  // with part of the wave
}
constexpr int kLaneOperations = 26;

static uint64_t lane_reference(int which, uint32_t lane) {
  const auto value = [](uint32_t l) { return mixed(l); };
  const uint32_t v = value(lane);
  uint64_t mask = 0;
  switch (which) {
    case 0:
      for (int l = 0; l < kWave; ++l) mask |= static_cast<uint64_t>(value(l) & 1) << l;
      return mask;
    case 1: return __builtin_popcountll(static_cast<uint64_t>(v) << 20 | lane);
    case 2: return __builtin_ffs(static_cast<int>(v & 0xff00));
    case 3: return __builtin_ffsll(static_cast<long long>(static_cast<uint64_t>(v) << 32));
    case 4: return (v >> lane % 32) == 0 ? 32 : __builtin_clz(v >> lane % 32);
    case 5: return v == 0 ? 64 : __builtin_clzll(v);
    case 6: case 7: {
      const int bits = which == 6 ? 32 : 64;
      for (int b = 0; b < 32; ++b) mask |= static_cast<uint64_t>(v >> b & 1) << (bits - 1 - b);
      return mask;
    }
    case 8: return static_cast<uint64_t>(v) * value(lane + 1) >> 32;
    case 9: {
      const unsigned __int128 left = static_cast<uint64_t>(v) << 32 | lane;
      return static_cast<uint64_t>(left * (value(lane + 2) * 0x100000001ull) >> 64);
    }
    case 10: return value(kWave - 1 - lane);
    case 11: return value(lane < 3 ? lane : lane - 3);
    case 12: return value(lane + 5 > kWave - 1 ? lane : lane + 5);
    case 13: return value(lane ^ 21);
    case 14: return value((lane & ~15u) + 2);
    case 15: return static_cast<uint64_t>(value(lane ^ 1)) << 31;
    case 16: return value(0) & 0xffff;
    case 17: return lane % 16 == 0 ? 7 : value(lane - 1);
    case 18: return value((lane & ~7u) | (7 - lane % 8));
    case 19: return value(lane ^ 1);
    case 20: {
      const uint64_t both = static_cast<uint64_t>(v) << 32 | value(lane + 3);
      return (both & 0xff) | (both >> 40 & 0xff) << 8 | (both >> 16 & 0xff) << 16 | (both >> 56 & 0xff) << 24;
    }
    case 21: {
      uint64_t sum = 5;
      for (int b = 0; b < 32; b += 8) sum += std::abs(static_cast<int>(v >> b & 0xff) - static_cast<int>(value(lane + 4) >> b & 0xff));
      return sum;
    }
    case 22: return v >> 5 & 0x1ff;
    case 23: return static_cast<uint32_t>((static_cast<uint64_t>(v) << 32 | value(lane + 5)) >> 24);
    case 24: return 3;
    default:
      for (int l = 0; l < kWave; l += 3) mask |= 1ull << l;
      return lane % 3 == 0 ? mask : 0;
  }
}

static void lanes() {
  const std::vector<uint64_t> got = results<uint64_t>(lane_operations, 1, kWave, kLaneOperations * kWave);
  for (int which = 0; which < kLaneOperations; ++which)
    for (int lane = 0; lane < kWave; ++lane) {
      const uint64_t value = got[which * kWave + lane], want = lane_reference(which, lane);
      if (value != want)
        check::fail("lane operation %d: lane %d is %#llx, not %#llx", which, lane, static_cast<unsigned long long>(value),
                    static_cast<unsigned long long>(want));
    }
}

// fp16: what HIP's half types compile to, scalar and packed. Exact, since the values are small multiples of one half.
__global__ void half_operations(float* out) {
  const int lane = threadIdx.x;
  const __half a = __float2half(lane * 0.5f), b = __int2half_rn(3 - lane);
  const __half2 pair = __halves2half2(a, b);
  int which = 0;
  const auto put = [&](float result) { out[which++ * kWave + lane] = result; };
  put(__half2float(__hadd(a, b)));
  put(__half2float(__hmul(a, b)));
  put(__half2float(__hfma(a, b, a)));
  put(__half2float(__hsub(b, a)));
  put(__low2float(__hadd2(pair, pair)));
  put(__high2float(__hmul2(pair, pair)));
  put(__low2float(__hfma2(pair, pair, pair)));
  put(__hgt(a, b) ? 1.0f : 0.0f);
  put(__half2float(hsqrt(__hmul(a, a))));
  put(static_cast<float>(__half2int_rn(__hdiv(__hmul(a, b), __float2half(0.25f)))));
}
constexpr int kHalfOperations = 10;

static void halves() {
  const std::vector<float> got = results<float>(half_operations, 1, kWave, kHalfOperations * kWave);
  for (int lane = 0; lane < kWave; ++lane) {
    const float a = lane * 0.5f, b = static_cast<float>(3 - lane);
    // Exact in fp16 or rounded once, as in the operations themselves.
    const auto half = [](float value) { return static_cast<float>(static_cast<_Float16>(value)); };
    const float want[kHalfOperations] = {a + b, half(a * b), half(a * b + a), b - a, 2 * a, half(b * b), half(a * a + a),
                                         a > b ? 1.0f : 0.0f, std::sqrt(a * a), half(a * b) * 4};
    for (int which = 0; which < kHalfOperations; ++which)
      expect("fp16 operation", which * kWave + lane, got[which * kWave + lane], want[which]);
  }
}

// Packed fp32: clang -O3 turns these into v_pk_fma_f32, v_pk_mul_f32 and v_pk_add_f32.
using Float2 = float __attribute__((ext_vector_type(2)));

__global__ void packed_operations(Float2* out) {
  const float lane = static_cast<float>(threadIdx.x);
  const Float2 a = {lane, -lane}, b = {0.5f, 3.0f};
  out[threadIdx.x] = __builtin_elementwise_fma(a, b, a * b + (b - a));
}

static void packed() {
  const std::vector<Float2> got = results<Float2>(packed_operations, 1, kWave, kWave);
  for (int lane = 0; lane < kWave; ++lane) {
    const float a = static_cast<float>(lane);
    expect("packed fp32, low", lane, got[lane].x, a * 0.5f + (a * 0.5f + (0.5f - a)));
    expect("packed fp32, high", lane, got[lane].y, -a * 3.0f + (-a * 3.0f + (3.0f + a)));
  }
}

// Atomics of every type, without and with the old value. With whole numbers, the order does not affect the results.
struct Totals {
  int add, minimum, maximum, exclusive, compared;
  unsigned bits_and, bits_or, wrapped;
  unsigned long long wide;
  float single, single_maximum;
  double twice;
  unsigned long long returned;
};

__global__ void atomic_operations(Totals* totals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&totals->add, i);
  atomicMin(&totals->minimum, -i);
  atomicMax(&totals->maximum, i * 2);
  atomicXor(&totals->exclusive, i);
  atomicAnd(&totals->bits_and, ~static_cast<unsigned>(i));
  atomicOr(&totals->bits_or, static_cast<unsigned>(i) << 4);
  atomicInc(&totals->wrapped, 99);
  atomicAdd(&totals->wide, 1ull << 33);
  atomicAdd(&totals->single, 1.0f);
  atomicMax(&totals->single_maximum, static_cast<float>(i));
  atomicAdd(&totals->twice, 0.5);
  unsigned long long old = atomicAdd(&totals->returned, 1ull);  // each value once: 0 ... n - 1
  atomicXor(&totals->returned, 0ull);
  __shared__ float shared_single;
  __shared__ double shared_double;
  __shared__ int shared_int;
  if (threadIdx.x == 0) shared_single = 0, shared_double = 0, shared_int = 0;
  __syncthreads();
  atomicAdd(&shared_single, 1.0f);
  atomicAdd(&shared_double, 2.0);
  const int order = atomicAdd(&shared_int, 1);
  __syncthreads();
  int expected = totals->compared, seen;
  do {
    seen = expected;
    expected = atomicCAS(&totals->compared, seen, seen + 1);
  } while (expected != seen);
  if (shared_single != blockDim.x || shared_double != 2.0 * blockDim.x || shared_int != static_cast<int>(blockDim.x) ||
      order >= static_cast<int>(blockDim.x) || old >= gridDim.x * blockDim.x)
    atomicAdd(&totals->add, 1000000);
}

static void atomics() {
  constexpr int n = 512;
  const Totals got = results<Totals>(atomic_operations, 4, n / 4, 1)[0];
  expect("atomicAdd(int)", 0, got.add, n * (n - 1) / 2);
  expect("atomicMin(int)", 0, got.minimum, 1 - n);
  expect("atomicMax(int)", 0, got.maximum, 2 * (n - 1));
  expect("atomicXor(int)", 0, got.exclusive, 0);
  expect("atomicAnd(unsigned)", 0, got.bits_and, 0u);
  expect("atomicOr(unsigned)", 0, got.bits_or, (n - 1u) << 4);
  expect("atomicInc(unsigned)", 0, got.wrapped, n % 100u);
  expect("atomicAdd(unsigned long long)", 0, got.wide, static_cast<unsigned long long>(n) << 33);
  expect("atomicAdd(float)", 0, got.single, static_cast<float>(n));
  expect("atomicMax(float)", 0, got.single_maximum, static_cast<float>(n - 1));
  expect("atomicAdd(double)", 0, got.twice, n * 0.5);
  expect("atomicAdd with return", 0, got.returned, static_cast<unsigned long long>(n));
  expect("atomicCAS(int)", 0, got.compared, n);
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "mathfunctions");
  options.finish();
  functions();
  lanes();
  halves();
  packed();
  atomics();
  check::pass("mathfunctions checksum=%016llx", static_cast<unsigned long long>(total_checksum));
  return 0;
}
