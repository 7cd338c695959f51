#include "runtime/queues/barrier_packets.h"

#include <algorithm>

#include "runtime/queues/signals.h"

namespace rpd {

BarrierCondition::BarrierCondition(const AddressSpace& memory, const hsa_signal_t (&signals)[5], bool all) : all_(all) {
  for (const hsa_signal_t signal : signals)
    if (signal.handle) signals_[count_++] = memory.at<amd_signal_t>(signal.handle);
}

bool BarrierCondition::satisfied() const {
  const auto done = [](const amd_signal_t* signal) { return load_value(*signal) == 0; };
  if (count_ == 0) return true;
  return all_ ? std::all_of(signals_, signals_ + count_, done) : std::any_of(signals_, signals_ + count_, done);
}

uint64_t BarrierCondition::satisfied_at() const {
  uint64_t first = ~uint64_t{0}, last = 0;
  for (int i = 0; i < count_; ++i) {
    if (load_value(*signals_[i]) != 0) continue;  // only with OR: this one is still pending
    const uint64_t time = completion_time(*signals_[i]);
    first = std::min(first, time);
    last = std::max(last, time);
  }
  if (all_) return last;
  return first == ~uint64_t{0} ? 0 : first;
}

}  // namespace rpd
