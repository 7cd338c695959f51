/* The software device's interface for tools in the same process (the tracer, replay, the tests).
 *
 * A tool finds it with dlopen(getenv("HSA_MODEL_LIB"), RTLD_NOW | RTLD_NOLOAD) and dlsym("rpd_get_api");
 * on real hardware both fail, which tells a tool where it runs. */
#ifndef ROCM_PERF_DEVICE_H
#define ROCM_PERF_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPD_API_VERSION 5

typedef struct rpd_counter_info {
  const char* name;        /* as on silicon, e.g. "TCC_EA0_RDREQ_sum" */
  const char* block;       /* "SQ", "TCP", "TCC", "GRBM", ... */
  const char* description; /* one sentence, with the unit */
} rpd_counter_info;

/* When a dispatch ran, in ROCr's system time. From the device's own record, which no kernel can overwrite. */
typedef struct rpd_dispatch {
  uint64_t start_ns;
  uint64_t end_ns;
  double duration_error; /* possible error of the time in between, as a fraction; 0 if it is exact */
} rpd_dispatch;

typedef struct rpd_api {
  uint32_t version;               /* RPD_API_VERSION */
  const char* device;             /* e.g. "software gfx942" */
  const char* timing;             /* always "modelled" */
  const char* parameters_hash;    /* identifies the timing parameters behind every modelled time */
  uint32_t counter_count;
  const rpd_counter_info* counters; /* [counter_count] */

  /* While enabled, the device keeps a record of every finished dispatch that has a completion signal until the
   * record is taken (of the last 65,536 at most). Off at start, so that an unprofiled program accumulates no history; once on,
   * it stays on until it has been disabled as often as it was enabled. */
  void (*record_dispatches)(int enabled);

  /* Whether the dispatch with this completion signal (its handle) has ended and its record has not been taken yet. The
   * signal's value is no proof of that: kernels can write it. */
  int (*has_dispatch)(uint64_t completion_signal);

  /* Takes that record: times into `dispatch`, counters into values[counter_count]; and into errors[counter_count] the
   * possible error of each (docs/DEVICE_MODEL.md, "Sampled observation"), or NaN if it is exact. Each may be null. The
   * record is available before the device completes the signal. Returns 1, or 0 if there is none. */
  int (*take_dispatch)(uint64_t completion_signal, rpd_dispatch* dispatch, double* values, double* errors);

  /* Device memory lies at addresses below this. At this address and above, and wherever neither ROCr nor map_memory has
   * put anything below it, a device address equals the address of the same memory in this process. */
  uint64_t (*aperture_size)(void);

  /* Maps zeroed memory at device addresses of the caller's choice, below the aperture's size and in whole pages. ROCr
   * must not hand out the same addresses later: the caller prevents this by reserving them in the process before
   * hsa_init. Returns 0 or an errno: EINVAL, EEXIST (something is there), ENOMEM. */
  int (*map_memory)(uint64_t address, uint64_t size);
  int (*unmap_memory)(uint64_t address, uint64_t size);

  /* The address in this process of the memory behind a device address. */
  void* (*host_address)(uint64_t address);

  /* Empties all caches, including the memory-attached one, before the next dispatch. */
  void (*invalidate_caches)(void);

  /* Replaces the device options, in the syntax of ROCM_PERF_DEVICE_OPTIONS, for all dispatches from now on. The
   * execution engine starts anew with them, as at the start of the process: caches are empty. deadlock-after does not
   * change. Returns 0, EBUSY (a dispatch is in flight) or EINVAL. */
  int (*set_options)(const char* options);

  /* Declares, for the option memory-check, memory that the tool itself has placed: it is the program's, and its kernels may
   * access it; or, with `writable` 0, it is code within such memory. */
  void (*declare_memory)(uint64_t address, uint64_t size, int writable);

  /* One line that describes the first write in this process by a kernel to memory that is not its program's; null if there
   * was none. */
  const char* (*foreign_access)(void);
} rpd_api;

typedef const rpd_api* (*rpd_get_api_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
