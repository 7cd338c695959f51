// The registers through which a profiler chooses, starts and reads the performance counters of an XCC.
//
// When a dispatch ends, the timing model's counters for it, which are sums over the device, are added to the sums kept here. A
// register shows the share of one unit (a shader engine's SQ, a CU's L1, an L2 channel), as if all units had done the same
// amount of work: the shares add up to the sum. The addresses, which are the same in gfx9 and gfx10, are from Linux's
// gc_9_4_2_offset.h and gc_10_3_0_offset.h.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace rpd {

class PerformanceMonitor {
 public:
  explicit PerformanceMonitor(uint32_t xcc) : xcc_(xcc) {}

  // `address` is the address of a 32-bit register. An unknown register ignores writes and reads as 0.
  void write(uint32_t address, uint32_t value);
  uint32_t read(uint32_t address) const;

  // Adds a dispatch's counters, in the order of counter_table(), if counting is on.
  void count(const std::vector<double>& counters);

 private:
  struct Block;
  struct Counter;

  void control(uint32_t value);
  void select(const Counter& counter, uint32_t event);
  uint64_t counted(const Counter& counter) const;
  std::optional<uint32_t> event_of(const Counter& counter) const;
  double sum(const Counter& counter, uint32_t event) const;
  std::optional<uint64_t> unit(const Block& block) const;

  uint32_t xcc_;
  bool counting_ = false;
  uint32_t index_ = 0;  // GRBM_GFX_INDEX: which instances the other registers address
  std::unordered_map<uint64_t, uint32_t> events_;  // the selected events, by counter and instance
  std::vector<double> sums_;                       // since the last reset; empty if nothing was counted
};

}  // namespace rpd
