// The sample of XCDs that are observed throughout a large dispatch. An XCD has its own L2, so what is counted there does not
// depend on whether the others are observed.
#pragma once

#include <cstdint>

#include "exec/dispatched_kernel.h"
#include "isa/target.h"

namespace rpd {

constexpr uint32_t kSampledXcds = 3;
// An XCD with fewer workgroups would say too little about the others.
constexpr uint64_t kMinGroupsPerXcd = 16;

inline bool can_be_sampled(const DispatchedKernel& kernel) { return kernel.group_count() >= kMinGroupsPerXcd * target::xcds(); }

// `choice`: the number of the timed CU. Its XCD is in the sample, and so is the XCD of a thread trace. XCDs are assigned to
// host threads in turn, so the sample contains both even and odd XCDs: two threads then have about the same amount of work.
inline bool in_sample(uint32_t xcd, uint64_t choice, const DispatchedKernel& kernel) {
  const uint32_t xcds = target::xcds();
  if (xcd == 0 && kernel.request.traced_cu) return true;
  for (uint32_t i = 0; i < kSampledXcds; ++i)
    if (xcd == (choice + i * xcds / kSampledXcds + i % 2) % xcds) return true;
  return false;
}

}  // namespace rpd
