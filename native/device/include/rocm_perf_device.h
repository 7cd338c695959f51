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

#define RPD_API_VERSION 2

typedef struct rpd_counter_info {
  const char* name;        /* as on silicon, e.g. "TCC_EA0_RDREQ_sum" */
  const char* block;       /* "SQ", "TCP", "TCC", "GRBM", ... */
  const char* description; /* one sentence, with the unit */
} rpd_counter_info;

typedef struct rpd_api {
  uint32_t version;               /* RPD_API_VERSION */
  const char* device;             /* e.g. "software gfx942" */
  const char* timing;             /* always "modelled" */
  const char* parameters_hash;    /* identifies the timing parameters behind every modelled time */
  uint32_t counter_count;
  const rpd_counter_info* counters; /* [counter_count] */

  /* While enabled, the device keeps the counters of every finished dispatch that has a completion
   * signal until they are taken. Off at start, so that an unprofiled program keeps no history. */
  void (*record_dispatches)(int enabled);

  /* Moves the counters of the dispatch that completed `completion_signal` (its handle) into
   * values[counter_count]. They are there before the signal changes. Returns 1, or 0 if there are none. */
  int (*take_counters)(uint64_t completion_signal, double* values);

  /* Device addresses below this lie in an aperture that ROCr manages; from here on a device address is the
   * address of the same memory in this process. */
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
} rpd_api;

typedef const rpd_api* (*rpd_get_api_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
