// What the waves of one CU executed, in program order for each wave: the input to the replay of the CU.
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

// An access that brought lines into a cache. Its number is unique across the CUs of an XCD, or 0 if the access was not
// recorded.
struct Fetch {
  uint32_t number = 0;
  FetchedFrom from = FetchedFrom::L2;

  // The form in which a cache stores a line's fetch.
  uint32_t code() const { return number << 2 | static_cast<uint32_t>(from); }
  static Fetch of_code(uint32_t code) { return {code >> 2, static_cast<FetchedFrom>(code & 3)}; }
};

// The demands that a memory instruction makes on each level of the memory hierarchy, and what it has to wait for.
struct AccessCost {
  uint8_t look_ups = 0;      // vector L1 tags
  uint8_t l2_reads = 0;      // 128-byte requests that missed the L1
  uint8_t l2_writes = 0;     // 64-byte requests, atomics included
  uint8_t memory_reads = 0;  // reads and atomics that missed the L2
  uint8_t remote_reads = 0;  // reads that went to the host's or another device's memory
  FetchedFrom awaited_from : 2 = FetchedFrom::L2;
  bool waits_for_page : 1 = false;  // whether the level after the L1's TLB has to translate its address
  uint16_t lds_cycles = 0;
  uint32_t fetch : 25 = 0;  // this access's fetch number; 0 if it was not recorded
  uint32_t lanes : 7 = 0;   // active lanes, for any instruction; stored here because the bit-field has space
  uint32_t awaited = 0;  // number of the latest recorded fetch of the lines found in the cache; 0 if there was none
};

struct RecordingEntry {
  const Op* op;
  AccessCost cost;
};

class CuRecording;

class WaveRecording {
 public:
  explicit WaveRecording(CuRecording& owner) : owner_(owner) {}
  void add(const Op& op, uint32_t lanes);
  // The cost of the most recently added instruction, to be filled in when it is known.
  AccessCost& cost_of_last() { return *last_; }
  // The fetch number of the most recently added instruction; 0 if there was no room for it.
  uint32_t fetch_of_last() const;
  const CuRecording& owner() const { return owner_; }
  const std::vector<RecordingEntry>& entries() const { return entries_; }
  uint64_t lost() const { return lost_; }  // instructions for which there was no room
  // Discards the contents but keeps the allocation: growing again would cost the host more than recording does.
  void clear() {
    entries_.clear();
    lost_ = 0;
    last_ = &not_recorded_;
  }

 private:
  CuRecording& owner_;
  std::vector<RecordingEntry> entries_;
  uint64_t lost_ = 0;
  AccessCost not_recorded_;
  AccessCost* last_ = &not_recorded_;
};

// The recorded workgroups of a CU, with as many of their instructions as there is room for.
class CuRecording {
 public:
  using Group = std::vector<std::unique_ptr<WaveRecording>>;

  static constexpr uint32_t kMaxEntries = 4'000'000;  // 96 MB
  static constexpr uint32_t kRecordings = 3;           // at most, for each XCD
  static constexpr uint32_t kAllGroups = ~0u;
  static_assert(kRecordings * kMaxEntries < 1u << 25);  // must fit into AccessCost::fetch

  // A dispatch begins. `max_groups`, `max_entries`: how many workgroups and instructions to record at most. `number`: this
  // recording's number on its XCD, counting from 0.
  void begin(uint32_t number, uint32_t max_groups, uint32_t max_entries = kMaxEntries) {
    first_fetch_ = number * kMaxEntries + 1;
    max_groups_ = max_groups;
    max_entries_ = max_entries;
    entries_ = 0;
    keep_unused(2 * size_t{max_entries});
    groups_.clear();
  }
  // The recordings for the waves of a workgroup that is starting; null if enough workgroups have been recorded.
  const Group* record(size_t waves) {
    if (groups_.size() >= max_groups_ || entries_ >= max_entries_) return nullptr;
    Group& recordings = groups_.emplace_back();
    while (recordings.size() < waves) recordings.push_back(new_recording());
    return &recordings;
  }

  const std::deque<Group>& groups() const { return groups_; }
  uint64_t entries() const { return entries_; }
  bool has_fetch(uint32_t number) const { return number >= first_fetch_ && number - first_fetch_ < entries_; }
  // The index counts from 0; call this only for fetches of this recording.
  uint32_t index_of_fetch(uint32_t number) const { return number - first_fetch_; }

 private:
  friend class WaveRecording;
  // Keeps the last dispatch's recordings, up to `room` entries in total, for reuse in the same order: the next waves in that
  // order will probably record about as much.
  void keep_unused(size_t room) {
    unused_.clear();
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      for (auto recording = group->rbegin(); recording != group->rend(); ++recording) {
        const size_t size = std::max<size_t>(16, (*recording)->entries().capacity());
        if (size > room) return;
        room -= size;
        unused_.push_back(std::move(*recording));
      }
    }
  }
  std::unique_ptr<WaveRecording> new_recording() {
    if (unused_.empty()) return std::make_unique<WaveRecording>(*this);
    std::unique_ptr<WaveRecording> recording = std::move(unused_.back());
    unused_.pop_back();
    recording->clear();
    return recording;
  }
  bool reserve_entry() { return entries_ < max_entries_ && (++entries_, true); }

  uint32_t first_fetch_ = 1;
  uint32_t max_groups_ = 0;
  uint32_t max_entries_ = 0;
  uint32_t entries_ = 0;
  std::deque<Group> groups_;
  Group unused_;  // recordings of earlier dispatches
};

inline void WaveRecording::add(const Op& op, uint32_t lanes) {
  if (owner_.reserve_entry()) {
    last_ = &entries_.emplace_back(&op, AccessCost{.lanes = lanes}).cost;
  } else {
    last_ = &not_recorded_;
    ++lost_;
  }
}

// The CU's recorded instructions have consecutive fetch numbers, in the order in which they were recorded.
inline uint32_t WaveRecording::fetch_of_last() const {
  return last_ == &not_recorded_ ? 0 : owner_.first_fetch_ + owner_.entries_ - 1;
}

}  // namespace rpd
