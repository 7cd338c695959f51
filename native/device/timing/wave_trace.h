// What the waves of one CU executed, each in its own order: the input of the CU simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "isa/op.h"

namespace rpd {

// Where the data of a fetch came from.
enum class FetchedFrom : uint8_t { L2, Memory, Remote };

// An access that brought lines into a cache; 0 for one that was not recorded. Numbers are unique among the CUs of an XCD.
struct Fetch {
  uint32_t number = 0;
  FetchedFrom from = FetchedFrom::L2;

  // As a cache line keeps it.
  uint32_t code() const { return number << 2 | static_cast<uint32_t>(from); }
  static Fetch of_code(uint32_t code) { return {code >> 2, static_cast<FetchedFrom>(code & 3)}; }
};

// The demands of a memory instruction on each level, and what it has to wait for.
struct AccessCost {
  uint8_t look_ups = 0;      // vector L1 tags
  uint8_t l2_reads = 0;      // 128-byte requests that missed the L1
  uint8_t l2_writes = 0;     // 64-byte requests, atomics included
  uint8_t memory_reads = 0;  // reads and atomics that missed the L2
  uint8_t remote_reads = 0;  // reads that went to the host's or another device's memory
  FetchedFrom awaited_from : 2 = FetchedFrom::L2;
  bool waits_for_page : 1 = false;  // its address has to be translated by the level after the L1's TLB
  uint16_t lds_cycles = 0;
  uint32_t fetch : 25 = 0;  // the number of this access as a fetch; 0 if it fetched nothing
  uint32_t lanes : 7 = 0;   // active ones, of any instruction; stored here because the bit-field has space
  uint32_t awaited = 0;  // the latest recorded fetch of the lines that it found in the cache; 0 if there was none
};

struct TraceEntry {
  const Op* op;
  AccessCost cost;
};

class CuTrace;

class WaveTrace {
 public:
  explicit WaveTrace(CuTrace& owner) : owner_(owner) {}
  void add(const Op& op, uint32_t lanes);
  // The cost of the instruction added last, to be filled in when it is known.
  AccessCost& cost_of_last() { return *last_; }
  // The fetch number of the instruction added last; 0 if there was no room for it.
  uint32_t fetch_of_last() const;
  const CuTrace& owner() const { return owner_; }
  const std::vector<TraceEntry>& entries() const { return entries_; }
  uint64_t lost() const { return lost_; }  // instructions for which there was no room
  // Forgets everything but keeps its memory: growing again would cost the host more than recording does.
  void clear() {
    entries_.clear();
    lost_ = 0;
    last_ = &not_recorded_;
  }

 private:
  CuTrace& owner_;
  std::vector<TraceEntry> entries_;
  uint64_t lost_ = 0;
  AccessCost not_recorded_;
  AccessCost* last_ = &not_recorded_;
};

// The first workgroups that the CU ran, with as many of their instructions as there is room for.
class CuTrace {
 public:
  using Group = std::vector<std::unique_ptr<WaveTrace>>;

  static constexpr uint32_t kMostEntries = 4'000'000;  // 96 MB
  static constexpr uint32_t kTraces = 3;               // at most, of each XCD
  static constexpr uint32_t kAllGroups = ~0u;
  static_assert(kTraces * kMostEntries < 1u << 25);    // AccessCost::fetch

  // A dispatch begins. `most_groups`, `most_entries`: workgroups and instructions to record. `number`: of this trace on its
  // XCD, from 0.
  void begin(uint32_t number, uint32_t most_groups, uint32_t most_entries = kMostEntries) {
    first_fetch_ = number * kMostEntries + 1;
    most_groups_ = most_groups;
    most_entries_ = most_entries;
    entries_ = 0;
    keep_unused(2 * size_t{most_entries});
    groups_.clear();
  }
  // The traces in which to record a starting workgroup's waves; null if enough have been recorded.
  const Group* record(size_t waves) {
    if (groups_.size() >= most_groups_ || entries_ >= most_entries_) return nullptr;
    Group& traces = groups_.emplace_back();
    while (traces.size() < waves) traces.push_back(new_trace());
    return &traces;
  }

  const std::deque<Group>& groups() const { return groups_; }
  uint64_t entries() const { return entries_; }
  bool has_fetch(uint32_t number) const { return number >= first_fetch_ && number - first_fetch_ < entries_; }
  // From 0, for those that it has.
  uint32_t index_of_fetch(uint32_t number) const { return number - first_fetch_; }

 private:
  friend class WaveTrace;
  // Keeps the traces of the last dispatch, so that they are used again in the same order, probably by waves that record as
  // much; up to `room` entries in total.
  void keep_unused(size_t room) {
    unused_.clear();
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      for (auto trace = group->rbegin(); trace != group->rend(); ++trace) {
        const size_t size = std::max<size_t>(16, (*trace)->entries().capacity());
        if (size > room) return;
        room -= size;
        unused_.push_back(std::move(*trace));
      }
    }
  }
  std::unique_ptr<WaveTrace> new_trace() {
    if (unused_.empty()) return std::make_unique<WaveTrace>(*this);
    std::unique_ptr<WaveTrace> trace = std::move(unused_.back());
    unused_.pop_back();
    trace->clear();
    return trace;
  }
  bool take_room() { return entries_ < most_entries_ && (++entries_, true); }

  uint32_t first_fetch_ = 1;
  uint32_t most_groups_ = 0;
  uint32_t most_entries_ = 0;
  uint32_t entries_ = 0;
  std::deque<Group> groups_;
  Group unused_;  // of earlier dispatches
};

inline void WaveTrace::add(const Op& op, uint32_t lanes) {
  if (owner_.take_room()) {
    last_ = &entries_.emplace_back(&op, AccessCost{.lanes = lanes}).cost;
  } else {
    last_ = &not_recorded_;
    ++lost_;
  }
}

// There is one for each instruction of the trace, in the order in which they were recorded.
inline uint32_t WaveTrace::fetch_of_last() const {
  return last_ == &not_recorded_ ? 0 : owner_.first_fetch_ + owner_.entries_ - 1;
}

}  // namespace rpd
