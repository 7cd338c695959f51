// Memory that is not the device's own: the host's and other devices' memory, each behind a separate link.
#pragma once

#include <cstdint>

#include "timing/memory_counts.h"

namespace rpd {

// Remote memory as a CU sees it during a dispatch.
struct RemoteMemory {
  double bytes_per_cycle;  // the CU's share
  uint64_t latency_cycles;
};

// The latency of reading the host's or another device's memory.
uint64_t remote_latency_cycles(Owner owner);
// The average over a dispatch's remote reads; the host's latency if none of them went to another device.
uint64_t mean_remote_latency_cycles(const MemoryCounts& device);

// The cycles that the busiest link, at its full rate, needs for its share of a dispatch's traffic.
double link_cycles(const MemoryCounts& device);
// The combined rate of a dispatch's traffic over all links, averaged over link_cycles(); if there is no traffic to other
// devices, the host link's full rate.
double remote_bytes_per_cycle(const MemoryCounts& device);

}  // namespace rpd
