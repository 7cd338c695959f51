#include "runtime/reports/dispatch_records.h"

#include <utility>

namespace rpd {

void DispatchRecords::enable(bool enabled) {
  std::lock_guard lock(mutex_);
  enabled_ += enabled ? 1 : -1;
  if (enabled_ > 0) return;
  enabled_ = 0;
  records_.clear();
  oldest_.clear();
}

void DispatchRecords::add(uint64_t completion_signal, DispatchRecord record) {
  std::lock_guard lock(mutex_);
  if (enabled_ == 0 || completion_signal == 0) return;
  const uint64_t serial = next_serial_++;
  records_[completion_signal] = {serial, std::move(record)};
  oldest_.emplace_back(serial, completion_signal);
  while (oldest_.size() > kLimit) {
    const auto [old_serial, signal] = oldest_.front();
    oldest_.pop_front();
    auto entry = records_.find(signal);
    if (entry != records_.end() && entry->second.serial == old_serial) records_.erase(entry);
  }
}

bool DispatchRecords::has(uint64_t completion_signal) {
  std::lock_guard lock(mutex_);
  return records_.contains(completion_signal);
}

bool DispatchRecords::take(uint64_t completion_signal, DispatchRecord& record) {
  std::lock_guard lock(mutex_);
  auto node = records_.extract(completion_signal);
  if (!node) return false;
  record = std::move(node.mapped().record);
  return true;
}

DispatchRecords& dispatch_records() {
  static auto* records = new DispatchRecords;
  return *records;
}

}  // namespace rpd
