// What the waves of one CU executed, in the order each wave did: the input of the CU simulator.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "exec/wave.h"
#include "isa/op.h"

namespace rpd {

struct TraceEntry {
  const Op* op;
  AccessCost cost;
};

class CuTrace;

class WaveTrace {
 public:
  explicit WaveTrace(CuTrace& owner) : owner_(owner) {}
  void add(const Op& op, const AccessCost& cost);
  const std::vector<TraceEntry>& entries() const { return entries_; }
  uint64_t lost() const { return lost_; }  // for want of room

 private:
  CuTrace& owner_;
  std::vector<TraceEntry> entries_;
  uint64_t lost_ = 0;
};

// A sample: the first workgroups that the CU ran, and of them as many instructions as there is room for.
class CuTrace {
 public:
  using Group = std::vector<std::unique_ptr<WaveTrace>>;

  // A dispatch begins, with so many workgroups at a time on the CU.
  void begin(uint32_t resident_groups);
  // Gives the waves of a starting workgroup something to record into, unless there are enough already.
  void record(Workgroup& group);

  const std::deque<Group>& groups() const { return groups_; }
  uint64_t entries() const { return entries_; }

 private:
  friend class WaveTrace;
  bool take_room() { return entries_ < kMostEntries && (++entries_, true); }

  static constexpr uint64_t kMostEntries = 4'000'000;  // 64 MB
  uint32_t most_groups_ = 0;
  uint64_t entries_ = 0;
  std::deque<Group> groups_;
};

inline void WaveTrace::add(const Op& op, const AccessCost& cost) {
  owner_.take_room() ? entries_.push_back({&op, cost}) : void(++lost_);
}

}  // namespace rpd
