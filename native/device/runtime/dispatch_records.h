// Counters of finished dispatches, kept until a tool takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace rpd {

class DispatchRecords {
 public:
  // A tool that records but never takes loses the oldest records beyond this many.
  static constexpr size_t kLimit = 1 << 16;

  void enable(bool enabled);
  void add(uint64_t completion_signal, std::vector<double> counters);
  // Moves them into values[]; false if there are none.
  bool take(uint64_t completion_signal, double* values);

 private:
  struct Record {
    uint64_t serial;
    std::vector<double> counters;
  };
  std::mutex mutex_;
  bool enabled_ = false;
  uint64_t next_serial_ = 0;
  std::unordered_map<uint64_t, Record> records_;              // by signal
  std::deque<std::pair<uint64_t, uint64_t>> oldest_;          // serial, signal
};

// One for all devices of the process: a completion signal belongs to one dispatch at a time. Never destroyed.
DispatchRecords& dispatch_records();

}  // namespace rpd
