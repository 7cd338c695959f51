// Kernels that are given more than their arguments say. It declares what it needs of HIP itself, as program.hip does.
extern "C" {
typedef struct ihipStream_t* hipStream_t;
typedef enum { hipSuccess } hipError_t;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, unsigned long lds, hipStream_t stream);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds = 0, hipStream_t stream = nullptr);
unsigned __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* lds, hipStream_t* stream);
int hipMalloc(void** address, unsigned long size);
int hipMemset(void* address, int value, unsigned long size);
int hipMemcpy(void* target, const void* source, unsigned long size, int kind);
int printf(const char* format, ...);
}
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

__device__ inline int thread() { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }

#define __constant__ __attribute__((constant))

__constant__ float coefficients[4] = {1.5f, -2.0f, 0.25f, 3.0f};
__device__ float* table;

__device__ inline float polynomial_of(float x) {
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum = sum * x + coefficients[k];
  return sum;
}
__global__ void polynomial(const float* in, float* out) { out[thread()] = polynomial_of(in[thread()]); }
__global__ void keep(float* address) { table = address; }
__global__ void looked_up(const int* index, float* out) { out[thread()] = table[index[thread()]]; }
__global__ void shifted(const float* in, float* out) {
  const int i = thread();
  if (i < 100) out[i] = i + 4 < 100 ? in[i + 4] : 0.0f;
}

enum class Mode : unsigned char { plain = 2, negated = 5, halved = 7 };
__global__ void chosen(const float* in, float* out, bool twice, Mode mode) {
  float x = in[thread()];
  if (twice) x = x + x;
  if (mode == Mode::negated) x = -x;
  if (mode == Mode::halved) x = x * 0.5f;
  out[thread()] = x;
}

__global__ void copied(const float* in, float* out) {
  for (int k = 0; k < 4; ++k) *(volatile float*)(out + thread()) = 0;
  out[thread()] = in[thread()]; // copied
}

// What T computes with is open until it is known.
struct Number { float x; };
__device__ inline Number operator*(Number a, Number b) { return Number{a.x * b.x}; }
template <typename T> __global__ void powers(const T* in, T* out) {
  T r = in[thread()];
  for (int k = 0; k < 3; ++k) r = r * in[thread()];
  out[thread()] = r;
}

// IEEE 754 leaves the sign of a NaN open that a difference gives.
__global__ void subtracted(const float* in, float* out, float by) { out[thread()] = in[thread()] - by; }

// The second wave adds what the first one left in the LDS.
__global__ void handed_on(const float* in, float* out) {
  __attribute__((shared)) float tile[128];
  const int t = __builtin_amdgcn_workitem_id_x();
  tile[t] = in[t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[t] = tile[t] + (t < 64 ? 0.0f : tile[t - 64]);
}

// Each row but the first adds the one before; the launch passes the second row.
__global__ void with_halo(const float* in, float* out) { out[thread()] = in[thread()] + in[thread() - 1]; }

// Variables that the kernel's text does not name, or names only where T is known.
__device__ float scale = 2.0f, offset = 0.5f, factor = 4.0f;
struct Sum {
  float value = offset;
  __device__ Sum& operator+=(float x) { value += x * scale; return *this; }
};
struct Stored {
  float* to;
  float value;
  __device__ ~Stored() { *to = value * factor; }
};
__device__ float* const the_scale = &scale;
template <typename T> __global__ void accumulated(const float* in, float* out) {
  T sum;
  sum += in[thread()];
  out[thread()] = sum.value;
}
template <typename T> __global__ void at_the_end(const float* in, float* out) { T one{out + thread(), in[thread()]}; }
__global__ void pointed_to(const float* in, float* out) { out[thread()] = in[thread()] * *the_scale; }

// Addresses that are numbers, as of a program in a language without pointers.
__global__ void addressed(unsigned long from, float* out) { out[thread()] = ((const float*)from)[thread() & 15]; }
__global__ void from_numbers(const unsigned long* table, float* out) {
  out[thread()] = ((const float*)table[thread() & 3])[thread() & 15];
}

// What decides only where values coincide: a counter's width, a zero beside an infinity, a row of extremes, a factor.
__global__ void counted(const unsigned* keys, unsigned* counts) {
  unsigned count[4] = {};
  for (int k = 0; k < 300; ++k) {
    const unsigned key = keys[(thread() + k) & 511] & 3;
    for (unsigned c = 0; c < 4; ++c) count[c] += key == c;
  }
  for (int c = 0; c < 4; ++c) counts[4 * thread() + c] = count[c];
}
__global__ void weighted(const float* weights, const float* in, float* out, float by) {
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum = __builtin_fmaf(weights[k], in[(thread() + k) & 127], sum);
  out[thread()] = sum * by;
}
__global__ void greatest(const float* in, float* out) {
  float most = -__builtin_inff();
  for (int k = 0; k < 8; ++k) most = in[(thread() + k) & 127] > most ? in[(thread() + k) & 127] : most;
  out[thread()] = most;
}
__global__ void multiplied(const int* in, int* out, int by) {
  __attribute__((shared)) int tile[128];
  const int t = __builtin_amdgcn_workitem_id_x();
  tile[t] = in[t] * by;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  { __builtin_amdgcn_s_barrier(); }
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[t] = (t < 64 ? 0 : tile[t - 64]) + tile[t];
}
// What drawn letters never do: occur in a text, at its end, too.
__global__ void found(const unsigned char* text, const unsigned char* word, int* hits) {
  int k = 0;
  if (thread() <= 512 - 5) while (k < 5 && text[thread() + k] == word[k]) ++k;
  hits[thread()] = k == 5;
}
__global__ void moved(const float* in, float* out) {
  out[thread()] = in[thread()] + 1;
  out[thread() + 128] = in[thread()] * 2;
}
// The last workgroup adds what the others have left.
__global__ void added_up(const int* in, int* parts, unsigned* arrived, int* sum) {
  if (__builtin_amdgcn_workitem_id_x()) return;
  const int group = __builtin_amdgcn_workgroup_id_x();
  parts[group] = in[group] * 3;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  const bool last = __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 15;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  if (!last) return;
  for (int k = 0; k < 16; ++k) *sum += parts[k];
}
// The host may look while it runs.
__global__ void announced(const int* in, int* out, int* flags) {
  __hip_atomic_store(out + thread(), in[thread()] * 3, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(flags + thread(), 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__global__ void stored(const int* in, int* out, volatile int* flags) {
  out[thread()] = in[thread()] * 3;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  flags[thread()] = 1;
}
__global__ void rounds_of(const int* in, int* out, int rounds) {
  for (int k = 0; k < rounds; ++k) out[thread()] = (k ? out[thread()] : in[thread()]) * 3 + k;
}

static unsigned seed = 1;
static unsigned next() { return (seed = seed * 1664525 + 1013904223) >> 9; }

// What `make` gives for each of `count` places, on the device.
template <typename T, typename F> T* made(int count, F make) {
  static T content[512];
  for (int i = 0; i < count; ++i) content[i] = make(i);
  void* address = nullptr;
  if (hipMalloc(&address, count * sizeof(T)) || hipMemcpy(address, content, count * sizeof(T), 1)) printf("no memory\n");
  return (T*)address;
}
template <typename T> T* empty(int count) {
  void* address = nullptr;
  if (hipMalloc(&address, count * sizeof(T)) || hipMemset(address, 0, count * sizeof(T))) printf("no memory\n");
  return (T*)address;
}
static float number(int) { return float(int(next() % 2001) - 1000) / 250; }

int main() {
  constexpr int n = 128;
  float* const out = empty<float>(n);
  polynomial<<<2, 64>>>(made<float>(n, number), out);
  keep<<<1, 1>>>(made<float>(n, number));
  looked_up<<<2, 64>>>(made<int>(n, [](int i) { return i * 37 % n; }), out);
  shifted<<<2, 64>>>(made<float>(100, number), empty<float>(100));
  chosen<<<2, 64>>>(made<float>(n, number), out, false, Mode::plain);
  powers<<<2, 64>>>(made<Number>(n, [](int i) { return Number{number(i)}; }), empty<Number>(n));
  powers<<<2, 64>>>(made<float>(n, number), out);
  copied<<<2, 64>>>(made<float>(n, number), out);
  handed_on<<<1, 128>>>(made<float>(n, [](int i) { return i + 1.0f; }), out);
  with_halo<<<2, 64>>>(made<float>(n + 1, number) + 1, out);
  accumulated<Sum><<<2, 64>>>(made<float>(n, number), out);
  at_the_end<Stored><<<2, 64>>>(made<float>(n, number), out);
  pointed_to<<<2, 64>>>(made<float>(n, number), out);
  float* const twos = made<float>(16, [](int) { return 2.0f; });
  static unsigned long address;
  address = (unsigned long)twos;
  addressed<<<2, 64>>>(address, out);
  from_numbers<<<2, 64>>>(made<unsigned long>(4, [](int) { return address; }), out);
  counted<<<2, 64>>>(made<unsigned>(512, [](int) { return next() & 3; }), empty<unsigned>(512));
  weighted<<<2, 64>>>(made<float>(4, number), made<float>(n, number), out, 1.5f);
  greatest<<<2, 64>>>(made<float>(n, number), out);
  multiplied<<<1, 128>>>(made<int>(n, [](int i) { return i; }), empty<int>(n), 5);
  found<<<8, 64>>>(
      made<unsigned char>(512, [](int) { return (unsigned char)('b' + next() % 24); }),
      made<unsigned char>(5, [](int i) { return (unsigned char)("vwaxz"[i]); }), empty<int>(512));
  moved<<<2, 64>>>(made<float>(256, number), empty<float>(256));
  added_up<<<16, 64>>>(made<int>(16, [](int i) { return i; }), empty<int>(16), empty<unsigned>(1), empty<int>(1));
  announced<<<2, 64>>>(made<int>(n, [](int i) { return i; }), empty<int>(n), empty<int>(n));
  stored<<<2, 64>>>(made<int>(n, [](int i) { return i; }), empty<int>(n), empty<int>(n));
  subtracted<<<2, 64>>>(made<float>(n, number), out, 0.75f);
  rounds_of<<<2, 64>>>(made<int>(n, [](int i) { return i; }), empty<int>(n), 5);
  float result = 0;
  if (hipMemcpy(&result, out, 4, 2)) printf("the copy failed\n");
  printf("%g\n", result);
}
