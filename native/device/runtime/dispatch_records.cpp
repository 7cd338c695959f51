#include "runtime/dispatch_records.h"

#include <algorithm>
#include <utility>

namespace rpd {

void DispatchRecords::enable(bool enabled) {
  std::lock_guard lock(mutex_);
  enabled_ = enabled;
  if (enabled) return;
  records_.clear();
  oldest_.clear();
}

void DispatchRecords::add(uint64_t completion_signal, std::vector<double> counters) {
  std::lock_guard lock(mutex_);
  if (!enabled_ || completion_signal == 0) return;
  const uint64_t serial = next_serial_++;
  records_[completion_signal] = {serial, std::move(counters)};
  oldest_.emplace_back(serial, completion_signal);
  while (oldest_.size() > kLimit) {
    const auto [old_serial, signal] = oldest_.front();
    oldest_.pop_front();
    auto record = records_.find(signal);
    if (record != records_.end() && record->second.serial == old_serial) records_.erase(record);
  }
}

bool DispatchRecords::take(uint64_t completion_signal, double* values) {
  std::lock_guard lock(mutex_);
  auto record = records_.find(completion_signal);
  if (record == records_.end()) return false;
  std::copy(record->second.counters.begin(), record->second.counters.end(), values);
  records_.erase(record);
  return true;
}

DispatchRecords& dispatch_records() {
  static auto* records = new DispatchRecords;
  return *records;
}

}  // namespace rpd
