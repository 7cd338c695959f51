// The interface for watching the replay of a CU.
#pragma once

#include <cstdint>

#include "isa/op.h"

namespace rpd {

// Times are in cycles since the dispatch began on the CU. Waves are numbered from 0 in launch order.
class CuReplayObserver {
 public:
  virtual ~CuReplayObserver() = default;
  virtual void launched(uint32_t wave, uint32_t simd, uint64_t time) = 0;
  // The wave reached `op` at `arrived`, `op` began to issue at `issued`, and the wave moved on at `done`.
  virtual void executed(uint32_t wave, const Op& op, uint64_t arrived, uint64_t issued, uint64_t done) = 0;
  virtual void ended(uint32_t wave, uint64_t time) = 0;
};

}  // namespace rpd
