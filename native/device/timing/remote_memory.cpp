#include "timing/remote_memory.h"

#include <algorithm>

#include "timing_parameters.inc.h"

namespace rpd {
namespace {

uint64_t cycles_of(long nanoseconds) { return static_cast<uint64_t>(nanoseconds * parameter::clock_mhz / 1000); }

double bytes_per_cycle(long gbps) { return static_cast<double>(gbps) * 1000.0 / parameter::clock_mhz; }
double cycles_for(uint64_t bytes, long gbps) { return static_cast<double>(bytes) / bytes_per_cycle(gbps); }

uint64_t all_peer_bytes(const MemoryCounts& device) {
  uint64_t bytes = 0;
  for (Owner peer = 0; peer < kMaxDevices; ++peer) bytes += device.peer_bytes(peer);
  return bytes;
}

}  // namespace

uint64_t remote_latency_cycles(Owner owner) {
  return cycles_of(owner == kHost ? parameter::host_latency_ns : parameter::peer_latency_ns);
}

uint64_t mean_remote_latency_cycles(const MemoryCounts& device) {
  const uint64_t peers = device.all_peer_reads64();
  if (peers == 0) return remote_latency_cycles(kHost);
  const uint64_t host = device.remote_reads64 - peers;
  return (host * remote_latency_cycles(kHost) + peers * cycles_of(parameter::peer_latency_ns)) / device.remote_reads64;
}

double link_cycles(const MemoryCounts& device) {
  double longest = cycles_for(device.host_bytes(), parameter::host_link_gbps);
  for (Owner peer = 0; peer < kMaxDevices; ++peer)
    longest = std::max(longest, cycles_for(device.peer_bytes(peer), parameter::peer_link_gbps));
  return longest;
}

double remote_bytes_per_cycle(const MemoryCounts& device) {
  const uint64_t peers = all_peer_bytes(device);
  if (peers == 0) return bytes_per_cycle(parameter::host_link_gbps);
  return static_cast<double>(device.host_bytes() + peers) / link_cycles(device);
}

}  // namespace rpd
