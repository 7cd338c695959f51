// What barrier packets wait for, and when that is so in virtual time.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include <cstdint>

#include "memory/address_space.h"

namespace rpd {

// Up to five signals, all (barrier-AND) or at least one (barrier-OR) of which must be 0. A null signal counts as
// 0 for AND and is ignored for OR; no signals at all are satisfied.
class Dependencies {
 public:
  Dependencies(const AddressSpace& memory, const hsa_signal_t (&signals)[5], bool all);

  bool satisfied() const;
  // The end of the last one (AND) or of the first one to end (OR). Only when satisfied.
  uint64_t satisfied_at() const;

 private:
  const amd_signal_t* signals_[5];
  int count_ = 0;
  bool all_;
};

}  // namespace rpd
