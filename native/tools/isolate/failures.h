// Detects kernels that fail. Their completion signals never change, so the failure must be detected in some other way.
#pragma once

#include <atomic>

#include "common/hsa.h"

namespace rpd::isolate {

// Whether a queue or a GPU has reported an error. The program's own reaction, which may be to abort, is delayed until the
// capture is complete.
inline std::atomic<bool> gpu_failed{false};

// Replaces the program's own callback in the call to hsa_queue_create: `report` is passed instead, with this object as its
// data. Lives as long as the process.
struct QueueErrors {
  void (*program_callback)(hsa_status_t, hsa_queue_t*, void*);
  void* data;

  static void report(hsa_status_t status, hsa_queue_t* queue, void* self);
};

}  // namespace rpd::isolate
