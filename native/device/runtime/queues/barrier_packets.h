// The conditions that barrier packets wait for, and the virtual times at which they are satisfied.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include <cstdint>

#include "memory/address_space.h"

namespace rpd {

// Up to five signals, of which all (barrier-AND) or at least one (barrier-OR) must be 0. A null signal counts as 0 for AND and
// is ignored for OR; without any signals, the condition is satisfied.
class BarrierCondition {
 public:
  BarrierCondition(const AddressSpace& memory, const hsa_signal_t (&signals)[5], bool all);

  bool satisfied() const;
  // When the last signal (AND) or the first one (OR) completed. Valid only when satisfied.
  uint64_t satisfied_at() const;

 private:
  const amd_signal_t* signals_[5];
  int count_ = 0;
  bool all_;
};

}  // namespace rpd
