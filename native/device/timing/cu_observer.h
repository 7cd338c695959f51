// The interface for watching the replay of a CU.
#pragma once

#include <cstdint>

#include "isa/op.h"

namespace rpd {

// Times are cycles from the beginning of the dispatch on the CU. Waves are numbered in the order of their launch, from 0.
class CuObserver {
 public:
  virtual ~CuObserver() = default;
  virtual void launched(uint32_t wave, uint32_t simd, uint64_t time) = 0;
  // `op` was the wave's next instruction from `arrived` on and began to issue at `issued`; the wave proceeded at `done`.
  virtual void executed(uint32_t wave, const Op& op, uint64_t arrived, uint64_t issued, uint64_t done) = 0;
  virtual void ended(uint32_t wave, uint64_t time) = 0;
};

}  // namespace rpd
