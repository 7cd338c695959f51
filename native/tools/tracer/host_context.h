// What the calling thread is doing: its current HIP call and that call's stream. Both are recorded as the origin of the packets
// that the thread submits during the call.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "spool/format.h"

namespace rpd::tracer {

struct HostContext {
  uint64_t correlation = 0;  // the innermost HIP call's id
  uint32_t stream = 0;
  uint32_t thread = static_cast<uint32_t>(syscall(SYS_gettid));

  spool::Origin origin() const { return {correlation, thread, stream}; }
};

inline HostContext& host_context() {
  static thread_local HostContext context;
  return context;
}

}  // namespace rpd::tracer
