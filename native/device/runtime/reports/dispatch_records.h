// The device's own records of finished dispatches, kept until a tool takes them. A kernel can overwrite its signal, its
// packet and its queue, but not these records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace rpd {

struct DispatchRecord {
  uint64_t start = 0, end = 0;  // timestamps
  std::vector<double> counters;
  // The errors of estimated counters; see DispatchResult.
  std::vector<double> counter_errors;
  double duration_error = 0;
};

class DispatchRecords {
 public:
  // A record is dropped once this many newer ones have been added, in case a tool enables recording but never takes any.
  static constexpr size_t kLimit = 1 << 16;

  // Calls nest: recording continues until it has been disabled as often as it was enabled.
  void enable(bool enabled);
  void add(uint64_t completion_signal, DispatchRecord record);
  bool has(uint64_t completion_signal);
  // Moves the dispatch's record into `record`; returns false if there is none.
  bool take(uint64_t completion_signal, DispatchRecord& record);

 private:
  struct KeptRecord {
    uint64_t serial;
    DispatchRecord record;
  };
  std::mutex mutex_;
  int enabled_ = 0;
  uint64_t next_serial_ = 0;
  std::unordered_map<uint64_t, KeptRecord> records_;                // by signal
  std::deque<std::pair<uint64_t, uint64_t>> oldest_;          // serial, signal
};

// One object serves all devices of the process, since a completion signal belongs to one dispatch at a time. Never destroyed.
DispatchRecords& dispatch_records();

}  // namespace rpd
