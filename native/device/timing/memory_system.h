// The memory system of one XCD: a vector L1 for each CU, a scalar cache for every two, the L2 behind them, and the latency
// that each access would have.
#pragma once

#include <array>
#include <vector>

#include "exec/observer.h"
#include "memory/cache.h"
#include "memory/line_log.h"
#include "timing/memory_counts.h"
#include "timing/wave_timing.h"

namespace rpd {

class MemorySystem {
 public:
  MemorySystem();

  // An access by the wave's most recently issued instruction. The wave's clock is at the time of issue.
  void vector_access(const Wave& wave, const Op& op, const VectorAccess& access);
  void scalar_access(WaveTiming& wave, uint64_t address, uint32_t bytes);
  // Waits until at most this many accesses are outstanding.
  static void wait(WaveTiming& wave, unsigned vector_left, unsigned scalar_left);

  // A dispatch begins: invalidates the L1s and, if it acquires, the L2. `map` tells which addresses are the device's own
  // memory; if it is null, all are.
  void begin(bool acquires, const AllocationMap* map);
  // The dispatch ends: with a release, dirty L2 lines go to memory.
  void end(bool releases);
  // Between dispatches: empties all caches.
  void forget();

  const MemoryCounts& counts() const { return counts_; }
  // The distinct lines that the L2 read from memory, and those that it wrote there.
  const std::vector<uint64_t>& lines_read() const { return lines_read_.lines(); }
  const std::vector<uint64_t>& lines_written() const { return lines_written_.lines(); }

 private:
  uint64_t read_line(uint32_t cu, uint64_t line);
  uint64_t load(uint32_t cu, const VectorAccess& access);
  uint64_t load_consecutive(uint32_t cu, const VectorAccess& access);
  uint64_t store(const VectorAccess& access);
  uint64_t atomic(const Op& op, const VectorAccess& access);
  uint64_t global(uint32_t cu, const Op& op, const VectorAccess& access);
  uint64_t scratch(const Wave& wave, const Op& op, const VectorAccess& access);
  void lds(WaveTiming& wave, const Op& op, const VectorAccess& access);
  uint64_t scalar_read(uint64_t scalar_line);
  bool in_host_memory(uint64_t line);
  void read_from_host(uint32_t requests);
  bool l2_read(uint64_t line);
  bool l2_write(uint64_t line, const ByteMask& bytes);
  Cache::Line& l2_allocate(uint64_t line);
  void read_from_memory(uint64_t line);
  void write_to_memory(const Cache::Line& line);

  std::vector<Cache> l1_;      // [cu]
  std::vector<Cache> scalar_;  // [pair of CUs, or a single CU whose partner is disabled]
  Cache l2_;
  MemoryCounts counts_;
  LineLog lines_read_;
  LineLog lines_written_;
  const AllocationMap* map_ = nullptr;
  std::array<Placement, 8> placements_;  // recently looked up
};

}  // namespace rpd
