// What is counted and timed of one wave while it executes.
#pragma once

#include <array>
#include <cstdint>

#include "exec/wave.h"
#include "timing/unit_cycles.h"
#include "timing/wave_trace.h"

namespace rpd {

struct WaveTiming {
  static constexpr uint32_t kOutstanding = 64;
  using Completions = std::array<uint64_t, kOutstanding>;

  uint64_t clock = 0;                  // cycles, as if the wave were alone on the device
  uint32_t cu = 0;
  uint32_t simd = 0;                   // of the CU
  WaveUnits units = {};
  WaveTrace* trace = nullptr;          // where this wave is recorded, if it is
  // When what is outstanding will be done.
  uint64_t scalar_done = 0;            // scalar and LDS accesses
  uint32_t vector_issued = 0;          // vector memory instructions so far
  Completions* vector_done = nullptr;  // [issued % kOutstanding]; apart, for not all waves have any

  // Where to record what the instruction that was issued last asks of memory; null if nowhere.
  AccessCost* cost() const { return trace ? &trace->cost_of_last() : nullptr; }
};

}  // namespace rpd
