/* What the software device offers to tools in the same process (the tracer, replay, the tests).
 *
 * A tool finds it with dlopen(getenv("HSA_MODEL_LIB"), RTLD_NOW | RTLD_NOLOAD) and dlsym("rpd_get_api");
 * both fail on real hardware, which is how a tool knows the difference. */
#ifndef ROCM_PERF_DEVICE_H
#define ROCM_PERF_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPD_API_VERSION 4

typedef struct rpd_counter_info {
  const char* name;        /* as on silicon, e.g. "TCC_EA0_RDREQ_sum" */
  const char* block;       /* "SQ", "TCP", "TCC", "GRBM", ... */
  const char* description; /* one sentence, with the unit */
} rpd_counter_info;

/* When a dispatch ran, in ROCr's system time. Of the device's own record: what a kernel writes does not change it. */
typedef struct rpd_dispatch {
  uint64_t start_ns;
  uint64_t end_ns;
} rpd_dispatch;

typedef struct rpd_api {
  uint32_t version;               /* RPD_API_VERSION */
  const char* device;             /* e.g. "software gfx942" */
  const char* timing;             /* always "modelled" */
  const char* parameters_hash;    /* identifies the timing parameters behind every modelled time */
  uint32_t counter_count;
  const rpd_counter_info* counters; /* [counter_count] */

  /* While enabled, the device keeps a record of every finished dispatch that has a completion signal until
   * it is taken. Off at start, so that an unprofiled program keeps no history; it stays on until it was
   * disabled as often as it was enabled. */
  void (*record_dispatches)(int enabled);

  /* Whether the dispatch with this completion signal (its handle) has ended and its record was not taken yet. The
   * signal's value does not say so for sure: kernels can write it. */
  int (*has_dispatch)(uint64_t completion_signal);

  /* Takes that record: times into `dispatch`, counters into values[counter_count]; either may be null. It is there
   * before the device completes the signal. Returns 1, or 0 if there is none. */
  int (*take_dispatch)(uint64_t completion_signal, rpd_dispatch* dispatch, double* values);

  /* Memory of the device has addresses below this. From here on, and below where neither ROCr nor map_memory has put
   * anything, a device address is the address of the same memory in this process. */
  uint64_t (*aperture_size)(void);

  /* Memory at device addresses of the caller's choice, zeroed, below the aperture's size and in whole pages. What
   * ROCr hands out must not come to lie there later: the caller keeps it from it by reserving the same addresses of
   * the process before hsa_init. Returns 0 or an errno: EINVAL, EEXIST (something is there), ENOMEM. */
  int (*map_memory)(uint64_t address, uint64_t size);
  int (*unmap_memory)(uint64_t address, uint64_t size);

  /* Where the memory behind a device address is in this process. */
  void* (*host_address)(uint64_t address);

  /* The next dispatch finds nothing in the caches, the memory-attached one included. */
  void (*forget_caches)(void);

  /* Device options for the dispatches from now on, as in ROCM_PERF_DEVICE_OPTIONS, in place of the present ones. The
   * execution engine begins anew with them, as at the start of the process: caches are empty. deadlock-after is not changed.
   * Returns 0, EBUSY (a dispatch is under way) or EINVAL. */
  int (*set_options)(const char* options);

  /* For the option write-check, of memory that a tool has placed itself: it is the program's, to be written by its
   * kernels; or, with `writable` 0, it is code that lies in such memory. */
  void (*declare_memory)(uint64_t address, uint64_t size, int writable);

  /* What a kernel wrote that is not its program's, one line, the first in this process; null if none did. */
  const char* (*foreign_write)(void);
} rpd_api;

typedef const rpd_api* (*rpd_get_api_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
