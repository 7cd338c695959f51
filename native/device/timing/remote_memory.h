// Memory that is not the device's own: that of the host and of other devices, each at the end of a separate link.
#pragma once

#include <cstdint>

#include "timing/memory_counts.h"

namespace rpd {

// What a CU sees of it during a dispatch.
struct RemoteMemory {
  double bytes_per_cycle;  // its share
  uint64_t latency_cycles;
};

// The latency of a read of the host's memory, or another device's.
uint64_t remote_latency_cycles(Owner owner);
// On average over a dispatch's reads.
uint64_t mean_remote_latency_cycles(const MemoryCounts& device);

// Cycles that the busiest link takes for the traffic of a dispatch, at its full rate.
double link_cycles(const MemoryCounts& device);
// The average rate of all that traffic over those cycles; without traffic to other devices, the host link's full rate.
double remote_bytes_per_cycle(const MemoryCounts& device);

}  // namespace rpd
