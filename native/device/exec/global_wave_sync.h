// Global wave sync: the barrier between workgroups that implements HIP's grid barrier on gfx90a. A GPU has only one, and the
// device models it only on targets with a single XCD.
#pragma once

#include <cstdint>

namespace rpd {

struct GlobalWaveSync {
  uint32_t arrived = 0;
  uint64_t generation = 0;  // how many times all waves have met

  // Called when one of the `waves` waves that must meet arrives. Returns whether it is the last one; if so, none has to wait
  // any longer.
  bool arrive(uint32_t waves) {
    if (++arrived < waves) return false;
    arrived = 0;
    ++generation;
    return true;
  }
};

}  // namespace rpd
