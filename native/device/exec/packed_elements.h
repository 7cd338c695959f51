// Elements of a few bits, packed one after the other into the registers of a lane; an element may span two registers.
#pragma once

#include <cstdint>

#include "exec/wave.h"

namespace rpd {

inline uint32_t packed_element(const uint32_t* registers, int lane, int bits, int index) {
  const int first = bits * index, reg = first / 32, shift = first % 32;
  uint64_t words = registers[reg * kLanes + lane];
  if (shift + bits > 32) words |= static_cast<uint64_t>(registers[(reg + 1) * kLanes + lane]) << 32;
  return static_cast<uint32_t>(words >> shift & ((uint64_t{1} << bits) - 1));
}

}  // namespace rpd
