// Moves dwords between memory and registers, for one lane or for all lanes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isa/target.h"

namespace rpd {

// Loads into consecutive registers, [register][lane].
template <int Dwords>
struct LoadDwords {
  uint32_t* reg;

  void operator()(int l, const uint8_t* at) const {
    uint32_t values[Dwords];
    std::memcpy(values, at, sizeof values);
    for (int i = 0; i < Dwords; ++i) reg[i * kLanes + l] = values[i];
  }
  // Of lanes that follow each other in memory.
  void all(const uint8_t* at) const {
    if constexpr (Dwords == 1) {
      std::memcpy(reg, at, kLanes * sizeof(uint32_t));
    } else {
      alignas(64) uint32_t copy[kLanes * Dwords];
      std::memcpy(copy, at, sizeof copy);
      for (int i = 0; i < Dwords; ++i)
        for (int l = 0; l < kLanes; ++l) reg[i * kLanes + l] = copy[l * Dwords + i];
    }
  }
};

// Stores from consecutive registers.
template <int Dwords>
struct StoreDwords {
  const uint32_t* reg;

  void operator()(int l, uint8_t* at) const {
    uint32_t values[Dwords];
    for (int i = 0; i < Dwords; ++i) values[i] = reg[i * kLanes + l];
    std::memcpy(at, values, sizeof values);
  }
  void all(uint8_t* at) const {
    if constexpr (Dwords == 1) {
      std::memcpy(at, reg, kLanes * sizeof(uint32_t));
    } else {
      alignas(64) uint32_t copy[kLanes * Dwords];
      for (int i = 0; i < Dwords; ++i)
        for (int l = 0; l < kLanes; ++l) copy[l * Dwords + i] = reg[i * kLanes + l];
      std::memcpy(at, copy, sizeof copy);
    }
  }
};

// Calls `access(lane, host pointer)` for all lanes, from `first` on one behind the other, each of `bytes` bytes.
template <class Access>
void access_all(const Access& access, uint8_t* first, uint32_t bytes) {
  if constexpr (requires { access.all(first); }) {
    access.all(first);
  } else {
    for (int l = 0; l < kLanes; ++l) access(l, first + l * static_cast<ptrdiff_t>(bytes));
  }
}

}  // namespace rpd
