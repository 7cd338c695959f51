// Kernels with and without a race: races <name>. Prints a checksum only of results that do not depend on the race.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int kThreads = 256;

// The neighbouring wave's value is read without a barrier.
__global__ void missing_barrier(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = threadIdx.x;
  out[blockIdx.x * kThreads + threadIdx.x] = static_cast<volatile int*>(values)[(threadIdx.x + 64) % kThreads];
}

// Workgroups add to the same bins without atomics.
__global__ void plain_histogram(int* bins, const int* values) { bins[values[blockIdx.x * kThreads + threadIdx.x] % 16] += 1; }

// Two waves of a workgroup write the same words of global memory.
__global__ void cross_wave(int* out) { out[blockIdx.x * 64 + threadIdx.x % 64] = threadIdx.x; }

__global__ void unwritten_lds(int* out) {
  __shared__ int values[kThreads];
  if (threadIdx.x < 64) values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

// Executes its barrier only if the waves do not run in the usual order.
__global__ void usual_order_only(int* out) {
  __shared__ int values[kThreads], tickets[4], next;
  const int wave = threadIdx.x / 64;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  if (threadIdx.x % 64 == 0) tickets[wave] = atomicAdd(&next, 1);
  __syncthreads();
  bool usual = true;
  for (int i = 0; i < 4; ++i) usual = usual && tickets[i] == i;
  values[threadIdx.x] = threadIdx.x;
  if (!usual) __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = values[threadIdx.x % 64];
}

// ---- missing waits, each with a twin that waits ----

enum class Wait { no, yes };

// An offset in the LDS, for inline assembly.
__device__ unsigned lds_offset(const void* address) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long>(address));
}

template <Wait wait>
__device__ void barrier() {
  if constexpr (wait == Wait::yes) asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  asm volatile("s_barrier" ::: "memory");
}

// The write may take place after the barrier.
template <Wait wait>
__global__ void late_write(int* out) {
  __shared__ int values[kThreads];
  asm volatile("ds_write_b32 %0, %1" ::"v"(lds_offset(&values[threadIdx.x])), "v"(threadIdx.x) : "memory");
  barrier<wait>();
  out[blockIdx.x * kThreads + threadIdx.x] = values[(threadIdx.x + 64) % kThreads];
}

// So may the read, and even after another wave's write.
template <Wait wait>
__global__ void late_read(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int value;
  asm volatile("ds_read_b32 %0, %1" : "=v"(value) : "v"(lds_offset(&values[(threadIdx.x + 64) % kThreads])) : "memory");
  barrier<wait>();
  asm volatile("ds_write_b32 %0, %1" ::"v"(lds_offset(&values[threadIdx.x])), "v"(7) : "memory");
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(value) : : "memory");
  out[blockIdx.x * kThreads + threadIdx.x] = value;
}

// Through a flat address.
template <Wait wait>
__global__ void late_flat_write(int* out) {
  __shared__ int values[kThreads];
  int* generic = values + threadIdx.x;
  asm volatile("flat_store_dword %0, %1" ::"v"(generic), "v"(threadIdx.x) : "memory");
  // The LDS write completes after what is waited for here.
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  barrier<wait>();
  out[blockIdx.x * kThreads + threadIdx.x] = values[(threadIdx.x + 64) % kThreads];
}

// From memory directly into the LDS, which gfx90a cannot: vmcnt counts it, lgkmcnt does not.
template <Wait wait>
__global__ void late_transfer(int* out, const int* in) {
#if defined(__gfx942__) || defined(__gfx950__)
  __shared__ int values[kThreads];
  const int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
  asm volatile("s_mov_b32 m0, %0\n s_nop 0\n global_load_lds_dword %1, off" ::"s"(lds_offset(&values[wave * 64])),
               "v"(in + threadIdx.x) : "memory");
  if constexpr (wait == Wait::yes) asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  barrier<Wait::yes>();
  out[blockIdx.x * kThreads + threadIdx.x] = values[(threadIdx.x + 64) % kThreads];
#endif
}

// A wait that is too weak: two loads are in flight, and it covers only the first.
template <Wait wait>
__global__ void early_vector_use(int* out, const int* in) {
  int first, second;
  asm volatile("global_load_dword %0, %2, off\n global_load_dword %1, %2, off offset:4\n s_waitcnt vmcnt(%3)"
               : "=&v"(first), "=&v"(second) : "v"(in + threadIdx.x), "n"(wait == Wait::yes ? 0 : 1));
  out[blockIdx.x * kThreads + threadIdx.x] = first + second;
}

template <Wait wait>
__global__ void early_lds_use(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int value;
  asm volatile("ds_read_b32 %0, %1" : "=v"(value) : "v"(lds_offset(&values[threadIdx.x])) : "memory");
  if constexpr (wait == Wait::yes) asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(value));
  out[blockIdx.x * kThreads + threadIdx.x] = value + 1;
}

// Scalar loads complete in any order: a wait that leaves one in flight guarantees neither.
template <Wait wait>
__global__ void early_scalar_use(int* out, const int* in) {
  int first, second;
  asm volatile("s_load_dword %0, %2, 0x0\n s_load_dword %1, %2, 0x4\n s_waitcnt lgkmcnt(%3)"
               : "=&s"(first), "=&s"(second) : "s"(in), "n"(wait == Wait::yes ? 0 : 1));
  int sum;
  asm volatile("s_add_u32 %0, %1, 1\n s_waitcnt lgkmcnt(0)" : "=s"(sum) : "s"(first) : "scc");
  out[blockIdx.x * kThreads + threadIdx.x] = sum + second;
}

// A register that is overwritten while a load is in flight gets the loaded value afterwards.
template <Wait wait>
__global__ void early_overwrite(int* out, const int* in) {
  int value;
  asm volatile("global_load_dword %0, %1, off" : "=v"(value) : "v"(in + threadIdx.x));
  if constexpr (wait == Wait::yes) asm volatile("s_waitcnt vmcnt(0)" : "+v"(value));
  asm volatile("v_mov_b32 %0, 5" : "=v"(value) : "0"(value));
  asm volatile("s_waitcnt vmcnt(0)" : "+v"(value));
  out[blockIdx.x * kThreads + threadIdx.x] = value;
}

// The register of a store is free at once, and loads complete in order.
__global__ void free_registers(int* out, const int* in) {
  int value = threadIdx.x;
  asm volatile("global_store_dword %1, %0, off\n v_mov_b32 %0, 5\n global_load_dword %0, %2, off\n"
               " global_load_dword %0, %2, off offset:4\n s_waitcnt vmcnt(0)"
               : "+v"(value) : "v"(out + blockIdx.x * kThreads + threadIdx.x), "v"(in + threadIdx.x) : "memory");
  out[blockIdx.x * kThreads + threadIdx.x] = value;
}

// The last workgroup sums the others' results: whoever sees the counter must see these, too.
enum class Publish { relaxed, barrier, fence, release, acq_rel, seq_cst, other_wave, plain_other_wave };

template <Publish how>
__device__ int arrive(int* arrived) {
  constexpr int order = how == Publish::release ? __ATOMIC_RELEASE : how == Publish::acq_rel ? __ATOMIC_ACQ_REL
                      : how == Publish::seq_cst ? __ATOMIC_SEQ_CST : __ATOMIC_RELAXED;
  if (how == Publish::fence || how == Publish::other_wave || how == Publish::plain_other_wave) __threadfence();
  return __hip_atomic_fetch_add(arrived, 1, order, __HIP_MEMORY_SCOPE_AGENT);
}

template <Publish how>
__global__ void publish(int* partial, int* arrived, int* total) {
  __shared__ int last;
  constexpr bool through_other_wave = how == Publish::barrier || how == Publish::other_wave || how == Publish::plain_other_wave;
  constexpr bool plain = how == Publish::plain_other_wave;
  const int writer = through_other_wave ? 64 : 0;
  if (threadIdx.x == writer) {
    if (plain) partial[blockIdx.x] = 1 + blockIdx.x;
    else __hip_atomic_store(&partial[blockIdx.x], 1 + blockIdx.x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  if (through_other_wave) __syncthreads();
  if (threadIdx.x == 0) last = arrive<how>(arrived) == gridDim.x - 1;
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int sum = 0;
  if (plain) __threadfence();
  for (unsigned i = 0; i < gridDim.x; ++i) sum += plain ? partial[i] : __hip_atomic_load(&partial[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  *total = sum;
}

// A release that is not waited for: the counter may become visible before the data that is written back, and stores after the
// write-back are not written back. On gfx90a, nothing has to be written back, and the wait is the release.
enum class Release { waited_for, under_way, too_early };

#ifdef __gfx90a__
#define WRITE_BACK_L2 "s_nop 0"
#define RETURNS "glc"
#define ACQUIRE "buffer_wbinvl1_vol"
#else
#define WRITE_BACK_L2 "buffer_wbl2 sc1"
#define RETURNS "sc0"
#define ACQUIRE "buffer_inv sc1"
#endif

template <Release how>
__global__ void write_back(int* partial, int* arrived, int* total) {
  if (threadIdx.x != 0) return;
  if constexpr (how == Release::too_early) asm volatile(WRITE_BACK_L2 "\n s_waitcnt vmcnt(0)" ::: "memory");
  partial[blockIdx.x] = 1 + blockIdx.x;
  if constexpr (how != Release::too_early) asm volatile(WRITE_BACK_L2 ::: "memory");
  if constexpr (how == Release::waited_for) asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  int before;
  asm volatile("global_atomic_add %0, %1, %2, off " RETURNS "\n s_waitcnt vmcnt(0)\n " ACQUIRE
               : "=v"(before) : "v"(arrived), "v"(1) : "memory");
  if (before != gridDim.x - 1) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
  *total = sum;
}

// ---- correct ones ----

// The result of the workgroup's own store, read through the scalar cache, which does not see the store.
template <Wait Invalidated>
__global__ void stale_scalar(int* out) {
  int* const mine = out + blockIdx.x * kThreads;
  if (threadIdx.x == 0) mine[0] = 1;
  __syncthreads();
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  if constexpr (Invalidated == Wait::yes) asm volatile("s_dcache_inv" ::: "memory");
  int value;
  asm volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=s"(value) : "s"(mine) : "memory");
  if (threadIdx.x == 0) mine[1] = value;
}

__global__ void with_barrier(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = values[(threadIdx.x + 64) % kThreads];
}

__global__ void atomic_histogram(int* bins, const int* values) {
  atomicAdd(&bins[values[blockIdx.x * kThreads + threadIdx.x] % 16], 1);
}

// The last workgroup sums the others' results. With both fences they are ordered; without the second, old contents may have
// been loaded in advance; and a release tells only those who read what was written after it.
enum class Fences { both, first, after_the_message };

template <Fences fences>
__global__ void last_block_sums(int* partial, unsigned* arrived, int* total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x;
    if (fences != Fences::after_the_message) __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    if (fences != Fences::first) __threadfence();
    if (fences == Fences::after_the_message) atomicAdd(arrived + 1, 1u);
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
  *total = sum;
}

// Each workgroup adds what the one before it has found: that one's result, and then its flag, are stored, and whoever has seen
// the flag loads the result. With the flag in a plain store and load, nothing says so.
enum class Flag { released, relaxed, plain };

template <Flag how>
__global__ void chained_sums(int* sums, int* flags) {
  if (threadIdx.x != 0) return;
  int before = 0;
  if (blockIdx.x > 0) {
    int* const flag = &flags[blockIdx.x - 1];
    if constexpr (how == Flag::plain) {
      while (!*static_cast<volatile int*>(flag)) {}
    } else {
      constexpr int order = how == Flag::released ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
      while (!__hip_atomic_load(flag, order, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
    }
    before = sums[blockIdx.x - 1];
  }
  sums[blockIdx.x] = before + 1;
  constexpr int order = how == Flag::released ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
  if constexpr (how == Flag::plain) flags[blockIdx.x] = 1;
  else __hip_atomic_store(&flags[blockIdx.x], 1, order, __HIP_MEMORY_SCOPE_AGENT);
}

// A lock that workgroups take in turns; what it guards is read and written plainly. Without the acquire, what was loaded may be
// from before.
enum class Lock { complete, without_acquire, without_release };

template <Lock how>
__global__ void guarded(int* value, int* lock) {
  if (threadIdx.x != 0) return;
  constexpr int take = how == Lock::without_acquire ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE;
  constexpr int give = how == Lock::without_release ? __ATOMIC_RELAXED : __ATOMIC_RELEASE;
  int expected = 0;
  while (!__hip_atomic_compare_exchange_strong(lock, &expected, 1, take, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
    expected = 0;
    __builtin_amdgcn_s_sleep(1);
  }
  *value += 1;
  __hip_atomic_store(lock, 0, give, __HIP_MEMORY_SCOPE_AGENT);
}

// Neighbouring workgroups share words, but no bytes.
__global__ void bytes(unsigned char* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
}

// Nothing makes a wave wait for its neighbour's value; no race, since both accesses are atomic. Counts what came too late.
__global__ void relaxed_exchange(int* values, int* missed) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  __hip_atomic_store(&values[i], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (threadIdx.x == 0) return;
  if (!__hip_atomic_load(&values[i - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) atomicAdd(missed, 1);
}

bool launch(const char* name, int* a, int* b) {
  constexpr int kGroups = 32;
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("missing_barrier")) missing_barrier<<<kGroups, kThreads>>>(a);
  else if (is("plain_histogram")) plain_histogram<<<kGroups, kThreads>>>(a, b);
  else if (is("cross_wave")) cross_wave<<<kGroups, kThreads>>>(a);
  else if (is("unwritten_lds")) unwritten_lds<<<1, kThreads>>>(a);
  else if (is("with_barrier")) with_barrier<<<kGroups, kThreads>>>(a);
  else if (is("atomic_histogram")) atomic_histogram<<<kGroups, kThreads>>>(a, b);
#define LAST(HOW)                           \
  else if (is("last_block_sums<" #HOW ">")) \
    last_block_sums<Fences::HOW><<<kGroups, kThreads>>>(a, reinterpret_cast<unsigned*>(b), b + 64);
  LAST(both) LAST(first) LAST(after_the_message)
  else if (is("bytes")) bytes<<<kGroups, kThreads>>>(reinterpret_cast<unsigned char*>(a));
  else if (is("usual_order_only")) usual_order_only<<<kGroups, kThreads>>>(a);
  else if (is("relaxed_exchange")) relaxed_exchange<<<kGroups, kThreads>>>(a, b);
  else if (is("free_registers")) free_registers<<<kGroups, kThreads>>>(a, b);
#define BOTH(KERNEL, ...)                                                             \
  else if (is(#KERNEL "<no>")) KERNEL<Wait::no><<<kGroups, kThreads>>>(__VA_ARGS__);   \
  else if (is(#KERNEL "<yes>")) KERNEL<Wait::yes><<<kGroups, kThreads>>>(__VA_ARGS__);
  BOTH(late_write, a) BOTH(late_read, a) BOTH(late_flat_write, a) BOTH(late_transfer, a, b)
  BOTH(early_vector_use, a, b) BOTH(early_lds_use, a) BOTH(early_scalar_use, a, b) BOTH(early_overwrite, a, b)
  BOTH(stale_scalar, a)
#define PUBLISH(HOW) else if (is("publish<" #HOW ">")) publish<Publish::HOW><<<kGroups, kThreads>>>(a, b, b + 64);
  PUBLISH(relaxed) PUBLISH(barrier) PUBLISH(fence) PUBLISH(release) PUBLISH(acq_rel) PUBLISH(seq_cst) PUBLISH(other_wave)
  PUBLISH(plain_other_wave)
#define WRITE_BACK(HOW) else if (is("write_back<" #HOW ">")) write_back<Release::HOW><<<kGroups, kThreads>>>(a, b, b + 64);
  WRITE_BACK(waited_for) WRITE_BACK(under_way) WRITE_BACK(too_early)
#define CHAIN(HOW) else if (is("chained_sums<" #HOW ">")) chained_sums<Flag::HOW><<<kGroups, kThreads>>>(a, b);
  CHAIN(released) CHAIN(relaxed) CHAIN(plain)
#define GUARDED(HOW) else if (is("guarded<" #HOW ">")) guarded<Lock::HOW><<<kGroups, kThreads>>>(a, b);
  GUARDED(complete) GUARDED(without_acquire) GUARDED(without_release)
  else return false;
  return hipDeviceSynchronize() == hipSuccess;
}

// Arguments: names of kernels. Says to standard error which one runs, and prints the first value of its second buffer.
int main(int, char** names) {
  constexpr size_t kBytes = 1 << 20;
  while (const char* name = *++names) {
    std::fprintf(stderr, "kernel %s\n", name);
    int *a, *b, first = 0;
    if (hipMalloc(&a, kBytes) != hipSuccess || hipMalloc(&b, kBytes) != hipSuccess) return 2;
    if (hipMemset(a, 0, kBytes) != hipSuccess || hipMemset(b, 0, kBytes) != hipSuccess) return 2;
    if (!launch(name, a, b)) return 2;
    if (hipMemcpy(&first, b, sizeof first, hipMemcpyDeviceToHost) != hipSuccess) return 1;
    std::printf("%d\n", first);
  }
}
