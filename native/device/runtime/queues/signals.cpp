#include "runtime/queues/signals.h"

#include <cstddef>

#include "runtime/virtual_clock.h"

namespace rpd {

bool condition_holds(hsa_signal_condition_t condition, int64_t value, int64_t reference) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == reference;
    case HSA_SIGNAL_CONDITION_NE: return value != reference;
    case HSA_SIGNAL_CONDITION_LT: return value < reference;
    case HSA_SIGNAL_CONDITION_GTE: return value >= reference;
  }
  return false;
}

uint64_t completion_time(const amd_signal_t& signal) {
  return virtual_clock::from_timestamp(__atomic_load_n(&signal.end_ts, __ATOMIC_RELAXED));
}

void set_times(amd_signal_t& signal, uint64_t start, uint64_t end) {
  __atomic_store_n(&signal.start_ts, virtual_clock::to_timestamp(start), __ATOMIC_RELAXED);
  __atomic_store_n(&signal.end_ts, virtual_clock::to_timestamp(end), __ATOMIC_RELAXED);
}

amd_signal_t* signal_of_value(void* address) {
  const auto word = reinterpret_cast<uintptr_t>(address);
  const uintptr_t base = word & ~uintptr_t{AMD_SIGNAL_ALIGN_BYTES - 1};
  const uintptr_t offset = word - base;
  if (offset != offsetof(amd_signal_t, value) && offset != offsetof(amd_signal_t, value) + 4) return nullptr;
  auto* signal = reinterpret_cast<amd_signal_t*>(base);
  return signal->kind == AMD_SIGNAL_KIND_USER ? signal : nullptr;
}

}  // namespace rpd
