// Determines the duration of a dispatch from times that its kernel can overwrite: a GPU writes the times to completion signals,
// and a kernel can find its own signal through its packet. The times are therefore checked against others that the kernel
// cannot overwrite.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace rpd::replay {

// The times in one packet's completion signal, in ticks.
struct Timestamps {
  uint64_t start = 0, end = 0;
};

// The times of a dispatch contradict each other.
struct InconsistentTimes : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns the milliseconds that the kernel took. before: stamps of a barrier packet that had completed, and whose times had
// been read, before the kernel's packet was submitted; after: stamps of a barrier packet that completed after the kernel.
// host_ms: the time on the host's clock from ringing the doorbell for the kernel to seeing `after` complete. Throws
// InconsistentTimes if the kernel started before `before` ended, ended after `after`, ended before it started, or took longer
// than the host waited.
double kernel_milliseconds(const Timestamps& before, const Timestamps& kernel, const Timestamps& after, uint64_t ticks_a_second,
                           double host_ms);

}  // namespace rpd::replay
