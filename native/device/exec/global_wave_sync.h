// Global wave sync: the barrier between workgroups that HIP's grid barrier consists of on gfx90a. There is one resource, and
// waves of one XCD only can meet there.
#pragma once

#include <cstdint>

namespace rpd {

struct GlobalWaveSync {
  uint32_t arrived = 0;
  uint64_t generation = 0;  // how often all waves have met

  // A wave arrives, of so many that meet. Returns whether it is the last one, so that nobody has to wait.
  bool arrive(uint32_t waves) {
    if (++arrived < waves) return false;
    arrived = 0;
    ++generation;
    return true;
  }
};

}  // namespace rpd
