// The activity of one XCD's memory system during a dispatch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "memory/allocation_map.h"

namespace rpd {

struct MemoryCounts {
  // TCP: vector L1, all CUs
  uint64_t l1_lanes_reading = 0;    // summed over all vector memory instructions
  uint64_t l1_lanes_writing = 0;
  uint64_t l1_lanes_atomic_with_return = 0;
  uint64_t l1_lanes_atomic_without_return = 0;
  uint64_t l1_invalidations = 0;
  uint64_t l1_accesses = 0;         // tag look-ups
  uint64_t l1_tlb_misses = 0;
  uint64_t l1_read_requests = 0;    // to the L2, 128 bytes each
  uint64_t l1_write_requests = 0;   // to the L2, up to 64 bytes each
  uint64_t l1_atomics_with_return = 0;
  uint64_t l1_atomics_without_return = 0;
  // TCC: L2
  uint64_t l2_reads = 0;
  uint64_t l2_writes = 0;
  uint64_t l2_atomics = 0;
  uint64_t l2_hits = 0;
  uint64_t l2_misses = 0;
  uint64_t l2_writebacks = 0;       // lines
  uint64_t memory_reads128 = 0;     // requests to the fabric
  uint64_t memory_writes64 = 0;
  uint64_t memory_writes32 = 0;
  uint64_t l2_evictions = 0;        // lines evicted to make room for others
  uint64_t l2_eviction_writebacks = 0;  // evicted lines that were dirty
  uint64_t release_bytes = 0;           // dirty bytes that the final release wrote to the device's memory
  uint64_t memory_reads64 = 0;
  uint64_t remote_reads64 = 0;      // the part of memory_reads64 that went to the host's or another device's memory
  uint64_t remote_write_bytes = 0;
  uint64_t peer_reads64[kMaxDevices] = {};      // the part of remote_reads64 that went to each of the other devices
  uint64_t peer_write_bytes[kMaxDevices] = {};  // the part of remote_write_bytes that went to each of them
  // SQC: scalar data cache, shared by two CUs
  uint64_t scalar_requests = 0;     // lines looked up
  uint64_t scalar_misses = 0;       // 64-byte requests to the L2
  uint64_t scalar_loads[5] = {};    // of 1, 2, 4, 8 and 16 dwords
  // LDS
  uint64_t lds_active_cycles = 0;   // indexed accesses, conflicts included
  uint64_t lds_conflict_cycles = 0;          // further words in the same bank
  uint64_t lds_address_conflict_cycles = 0;  // several lanes' atomics on one word
  uint64_t lds_atomic_return_cycles = 0;
  uint64_t lds_lanes = 0;                    // active lanes of all accesses

  // The number of active lanes, summed over all vector memory instructions.
  uint64_t l1_lanes() const {
    return l1_lanes_reading + l1_lanes_writing + l1_lanes_atomic_with_return + l1_lanes_atomic_without_return;
  }

  void add(const MemoryCounts& other) {
    // All members are uint64_t. Unlike a list of the members, a loop cannot miss a new one.
    static_assert(sizeof(MemoryCounts) % sizeof(uint64_t) == 0);
    auto* counts = reinterpret_cast<uint64_t*>(this);
    const auto* other_counts = reinterpret_cast<const uint64_t*>(&other);
    for (unsigned i = 0; i < sizeof(MemoryCounts) / sizeof(uint64_t); ++i) counts[i] += other_counts[i];
  }
  void subtract(const MemoryCounts& other) {
    auto* counts = reinterpret_cast<uint64_t*>(this);
    const auto* other_counts = reinterpret_cast<const uint64_t*>(&other);
    for (unsigned i = 0; i < sizeof(MemoryCounts) / sizeof(uint64_t); ++i) counts[i] -= other_counts[i];
  }
  // The number of requests, in whole lines: a line that is written in two halves counts once.
  uint64_t memory_requests() const { return memory_reads128 + l2_writebacks; }
  // The share of the written-back lines that had to leave the L2 while waves were still running.
  double early_write_share() const {
    return l2_writebacks ? static_cast<double>(l2_eviction_writebacks) / static_cast<double>(l2_writebacks) : 0;
  }
  // Bytes moved from and to the device's own memory.
  uint64_t memory_read_bytes() const { return 128 * memory_reads128 + 64 * (memory_reads64 - remote_reads64); }
  uint64_t memory_write_bytes() const { return 64 * memory_writes64 + 32 * memory_writes32 - remote_write_bytes; }
  uint64_t l2_read_bytes() const { return 128 * l1_read_requests + 64 * scalar_misses; }
  uint64_t l2_write_bytes() const { return 64 * (l2_writes + l2_atomics); }
  // Bytes across the link to the host, or to another device, in the busier direction; a link carries both directions at the
  // same time.
  uint64_t host_bytes() const {
    return std::max(64 * (remote_reads64 - sum_of(peer_reads64)), remote_write_bytes - sum_of(peer_write_bytes));
  }
  uint64_t peer_bytes(Owner device) const { return std::max(64 * peer_reads64[device], peer_write_bytes[device]); }
  uint64_t all_peer_reads64() const { return sum_of(peer_reads64); }

 private:
  static uint64_t sum_of(const uint64_t (&of_devices)[kMaxDevices]) {
    return std::accumulate(std::begin(of_devices), std::end(of_devices), uint64_t{0});
  }
};

}  // namespace rpd
