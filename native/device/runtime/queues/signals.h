// HSA signals as a device sees them: amd_signal_t objects in memory that host and device share.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include <cstdint>

namespace rpd {

inline int64_t load_value(const amd_signal_t& signal) { return __atomic_load_n(&signal.value, __ATOMIC_ACQUIRE); }

bool condition_holds(hsa_signal_condition_t condition, int64_t value, int64_t reference);

// Virtual end time of the operation that last completed the signal; 0 if no device or tracked host thread has completed it.
uint64_t completion_time(const amd_signal_t& signal);
void set_times(amd_signal_t& signal, uint64_t start, uint64_t end);

// The signal whose value, or the upper half of it, is at `address`; null if there is no such signal.
amd_signal_t* signal_of_value(void* address);

}  // namespace rpd
