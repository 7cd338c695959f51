// Kernels over all kinds of numbers, each launched once. It declares what it needs of HIP itself, as program.hip does.
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

typedef float Four __attribute__((ext_vector_type(4)));
typedef _Float16 Halves __attribute__((ext_vector_type(2)));
struct Pair { float a, b; };
struct Mixed { char tag; double weight; short code[3]; };
struct Arguments { const float* in; float* out; int n; float scale; };
struct __hip_fp8_e4m3_fnuz { unsigned char __x; };  // as hip_fp8.h has it
struct Node { float value; Node* next; };
struct Opaque;
enum class Color : unsigned char { red = 1, green = 4, blue = 9 };

__global__ void vectors(const Four* in, Four* out) { out[thread()] = in[thread()] * 2.0f; }
__global__ void pairs(const Pair* in, Pair* out) { const Pair p = in[thread()]; out[thread()] = Pair{p.a + p.b, p.a - p.b}; }
__global__ void mixed(const Mixed* in, double* out) { const Mixed& m = in[thread()]; out[thread()] = m.weight * m.code[1] + m.tag; }
__global__ void integers(const int* in, int* out) { out[thread()] = in[thread()] * 3 + 1; }
__global__ void colors(const Color* in, bool* is, unsigned char* out) { out[thread()] = unsigned(in[thread()]) + is[thread()]; }
__global__ void brains(const __bf16* in, __bf16* out) { out[thread()] = __bf16(float(in[thread()]) * 2.0f); }
__global__ void packed(const Halves* in, Halves* out) { out[thread()] = in[thread()] * in[thread()]; }
__global__ void eighths(const __hip_fp8_e4m3_fnuz* in, float* out) {
  const unsigned bits = in[thread()].__x;  // sign, 4 bits of exponent (bias 8), 3 of mantissa
  const float value = __builtin_bit_cast(float, (bits & 0x80) << 24 | (bits & 0x7f) << 20) * 0x1p119f;
  out[thread()] = bits == 0x80 ? __builtin_nanf("") : value;
}
__global__ void grouped(Arguments a) { if (thread() < a.n) a.out[thread()] = a.in[thread()] * a.scale; }
__global__ void batched(const float* const* in, float* const* out) {
  const int batch = __builtin_amdgcn_workgroup_id_x(), i = __builtin_amdgcn_workitem_id_x();
  out[batch][i] = in[batch][i] + 1.0f;
}
__global__ void gather(const int* index, const float* in, float* out) { out[thread()] = in[index[thread()]]; }
__global__ void scatter(const int* index, const float* in, float* out) { out[index[thread()]] = in[thread()]; }
__global__ void rows(const int* first, const int* column, const float* value, const float* x, float* y) {
  float sum = 0;
  for (int i = first[thread()]; i < first[thread() + 1]; ++i) sum += value[i] * x[column[i]];
  y[thread()] = sum;
}
template <typename T> struct Complex { T re, im; };
template <typename T, int N> __global__ void squared(const Complex<T>* in, Complex<T>* out) {
  const Complex<T> c = in[thread()];
  out[thread()] = Complex<T>{c.re * c.re - c.im * c.im, N * c.re * c.im};
}
__global__ void chained(const Node* head, const Opaque* secret, float* out) {
  out[thread()] = head->value + head->next->value + *(const float*)secret;
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
  const auto floats = [] { return made<float>(n, number); };
  vectors<<<2, 64>>>(made<Four>(n, [](int i) { return Four{number(i), number(i), number(i), number(i)}; }), empty<Four>(n));
  pairs<<<2, 64>>>(made<Pair>(n, [](int i) { return Pair{number(i), number(i)}; }), empty<Pair>(n));
  mixed<<<2, 64>>>(made<Mixed>(n, [](int i) { return Mixed{char(i), number(i), {1, short(next()), 3}}; }), empty<double>(n));
  integers<<<2, 64>>>(made<int>(n, [](int i) { return i * 7 % 1000; }), empty<int>(n));
  colors<<<2, 64>>>(made<Color>(n, [](int i) { return i % 3 ? i % 2 ? Color::red : Color::green : Color::blue; }),
                    made<bool>(n, [](int i) { return i % 5 == 0; }), empty<unsigned char>(n));
  brains<<<2, 64>>>(made<__bf16>(n, [](int i) { return __bf16(number(i)); }), empty<__bf16>(n));
  packed<<<2, 64>>>(made<Halves>(n, [](int i) { return Halves{_Float16(number(i)), _Float16(number(i))}; }), empty<Halves>(n));
  eighths<<<2, 64>>>(made<__hip_fp8_e4m3_fnuz>(n, [](int) { return __hip_fp8_e4m3_fnuz{(unsigned char)(next() % 120)}; }),
                     empty<float>(n));
  grouped<<<2, 64>>>(Arguments{floats(), empty<float>(n), n - 8, 1.5f});
  float* const in = floats();
  float* const out = empty<float>(n);
  batched<<<2, 64>>>(made<float*>(2, [&](int i) { return in + 64 * i; }), made<float*>(2, [&](int i) { return out + 64 * i; }));
  gather<<<2, 64>>>(made<int>(n, [](int i) { return i * 37 % n; }), floats(), empty<float>(n));
  scatter<<<2, 64>>>(made<int>(n, [](int i) { return i * 37 % n; }), floats(), empty<float>(n));
  rows<<<2, 64>>>(made<int>(n + 1, [](int i) { return i * 3; }), made<int>(3 * n, [](int i) { return i * 53 % n; }),
                  made<float>(3 * n, number), floats(), empty<float>(n));
  squared<double, 2><<<2, 64>>>(made<Complex<double>>(n, [](int i) { return Complex<double>{number(i), number(i)}; }),
                                empty<Complex<double>>(n));
  Node* const last = made<Node>(1, [](int) { return Node{2.5f, nullptr}; });
  chained<<<1, 64>>>(made<Node>(1, [&](int) { return Node{1.5f, last}; }), (const Opaque*)floats(), empty<float>(64));
  float result = 0;
  if (hipMemcpy(&result, out, 4, 2)) printf("the copy failed\n");
  printf("%g\n", result);
}
