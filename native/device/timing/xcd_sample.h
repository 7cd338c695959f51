// The sample of XCDs that are observed throughout a large dispatch. An XCD has its own L2, so what is counted there does not
// depend on whether the others are observed.
#pragma once

#include <cstdint>

#include "exec/workgroup.h"
#include "isa/target.h"

namespace rpd {

constexpr uint32_t kSampledXcds = 3;
// With fewer workgroups, an XCD says too little about the others.
constexpr uint64_t kFewestGroups = 16;

inline bool can_be_sampled(const Kernel& kernel) { return kernel.group_count() >= kFewestGroups * target::xcds(); }

// `choice`: of the timed CU, whose XCD is in the sample, as is that of a thread trace. XCDs are executed by host threads in
// turn: even and odd ones, so that two threads have about the same to do.
inline bool in_sample(uint32_t xcd, uint64_t choice, const Kernel& kernel) {
  const uint32_t xcds = target::xcds();
  if (xcd == 0 && kernel.request.traced_cu) return true;
  for (uint32_t i = 0; i < kSampledXcds; ++i)
    if (xcd == (choice + i * xcds / kSampledXcds + i % 2) % xcds) return true;
  return false;
}

}  // namespace rpd
