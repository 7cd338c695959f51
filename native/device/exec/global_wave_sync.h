// Global wave sync: the barrier between workgroups that HIP's grid barrier consists of on gfx90a. There is one resource, and
// only waves of one XCD can meet there.
#pragma once

#include <cstdint>

namespace rpd {

struct GlobalWaveSync {
  uint32_t arrived = 0;
  uint64_t generation = 0;  // how often all waves have met

  // One of `waves` waves that meet arrives. Returns whether it is the last one, so that no wave has to wait.
  bool arrive(uint32_t waves) {
    if (++arrived < waves) return false;
    arrived = 0;
    ++generation;
    return true;
  }
};

}  // namespace rpd
