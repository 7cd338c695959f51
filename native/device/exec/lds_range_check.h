// The hardware's LDS range check, applied dword by dword: reads beyond the workgroup's allocation return 0, and writes are
// dropped. AMD's software relies on it: Tensile clears registers with out-of-range reads, and clang merges a read that may be
// out of range with one that is not. With the lds-check option, such an access raises a fault instead.
#pragma once

#include <algorithm>
#include <cstring>

#include "exec/wave.h"

namespace rpd {

inline bool in_lds(const Wave& wave, uint64_t address, uint64_t bytes) { return address + bytes <= wave.lds_bytes; }

// For an out-of-range access: raises a fault and returns false if lds-check is on; otherwise returns true.
inline bool may_leave_lds(Wave& wave, uint64_t address, int lane) {
  if (!wave.lds_check) return true;
  wave.raise("LDS access out of range", address, FaultKind::ApertureViolation, lane);
  return false;
}

constexpr uint32_t kLdsDword = 4;

inline void load_lds(const Wave& wave, uint64_t address, uint32_t bytes, uint8_t* to) {
  std::memset(to, 0, bytes);
  const uint32_t unit = std::min(bytes, kLdsDword);
  for (uint32_t i = 0; i < bytes; i += unit) {
    if (in_lds(wave, address + i, unit)) std::memcpy(to + i, wave.lds + address + i, unit);
  }
}

inline void store_lds(const Wave& wave, uint64_t address, uint32_t bytes, const uint8_t* from) {
  const uint32_t unit = std::min(bytes, kLdsDword);
  for (uint32_t i = 0; i < bytes; i += unit) {
    if (in_lds(wave, address + i, unit)) std::memcpy(wave.lds + address + i, from + i, unit);
  }
}

}  // namespace rpd
