#include "replay/dispatch_times.h"

#include <string>

namespace rpd::replay {
namespace {

// ROCr converts the stamps from the GPU's clock, which drifts relative to the host's [hsa_ext_amd.h: a linear interpolation].
constexpr double kDrift = 0.01, kGraceMs = 0.1;

[[noreturn]] void contradict(const std::string& contradiction) {
  throw InconsistentTimes("the times of the dispatch contradict each other: " + contradiction +
                          "; the kernel may write its own completion signal");
}

}  // namespace

double kernel_milliseconds(const Timestamps& before, const Timestamps& kernel, const Timestamps& after, uint64_t ticks_a_second,
                           double host_ms) {
  if (kernel.end <= kernel.start) contradict("it ends before it starts");
  if (kernel.start < before.end) contradict("it starts before the packet in front of it has ended");
  if (kernel.end > after.end) contradict("it ends after the packet that follows it");
  const double ms = static_cast<double>(kernel.end - kernel.start) * 1e3 / static_cast<double>(ticks_a_second);
  if (ms > host_ms * (1 + kDrift) + kGraceMs) contradict("it takes longer than the host waited for it");
  return ms;
}

}  // namespace rpd::replay
