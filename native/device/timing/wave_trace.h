// What the waves of one CU executed, each in its own order: the input of the CU simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "isa/op.h"

namespace rpd {

// The demands of a memory instruction on each level.
struct AccessCost {
  uint8_t look_ups = 0;      // vector L1 tags
  uint8_t l2_reads = 0;      // 128-byte requests that missed the L1
  uint8_t l2_writes = 0;     // 64-byte requests, atomics included
  uint8_t memory_reads = 0;  // reads and atomics that missed the L2
  uint8_t host_reads = 0;    // reads that went to the host's memory
  union {
    uint16_t lds_cycles = 0;
    uint16_t scalar_line;    // for a scalar load: low bits of the number of the last line it accessed
  };
};

struct TraceEntry {
  const Op* op;
  AccessCost cost;
};

class CuTrace;

class WaveTrace {
 public:
  explicit WaveTrace(CuTrace& owner) : owner_(owner) {}
  void add(const Op& op);
  // The cost of the instruction added last, to be filled in when it is known.
  AccessCost& cost_of_last() { return *last_; }
  const std::vector<TraceEntry>& entries() const { return entries_; }
  uint64_t lost() const { return lost_; }  // instructions for which there was no room

 private:
  CuTrace& owner_;
  std::vector<TraceEntry> entries_;
  uint64_t lost_ = 0;
  AccessCost not_recorded_;
  AccessCost* last_ = &not_recorded_;
};

// A sample: the first workgroups that the CU ran, with as many of their instructions as there is room for.
class CuTrace {
 public:
  using Group = std::vector<std::unique_ptr<WaveTrace>>;

  static constexpr uint64_t kMostEntries = 4'000'000;  // 64 MB

  // A dispatch begins. `most_groups`, `most_entries`: workgroups and instructions to record.
  void begin(uint32_t most_groups, uint64_t most_entries = kMostEntries) {
    most_groups_ = most_groups;
    most_entries_ = most_entries;
    entries_ = 0;
    groups_.clear();
  }
  // The traces in which to record a starting workgroup's waves; null if enough have been recorded.
  const Group* record(size_t waves) {
    if (groups_.size() >= most_groups_ || entries_ >= most_entries_) return nullptr;
    Group& traces = groups_.emplace_back();
    while (traces.size() < waves) traces.push_back(std::make_unique<WaveTrace>(*this));
    return &traces;
  }

  const std::deque<Group>& groups() const { return groups_; }
  uint64_t entries() const { return entries_; }

 private:
  friend class WaveTrace;
  bool take_room() { return entries_ < most_entries_ && (++entries_, true); }

  uint32_t most_groups_ = 0;
  uint64_t most_entries_ = 0;
  uint64_t entries_ = 0;
  std::deque<Group> groups_;
};

inline void WaveTrace::add(const Op& op) {
  if (owner_.take_room()) {
    last_ = &entries_.emplace_back(&op, AccessCost{}).cost;
  } else {
    last_ = &not_recorded_;
    ++lost_;
  }
}

}  // namespace rpd
