// The counts and times kept for one wave while it executes.
#pragma once

#include <array>
#include <cstdint>

#include "exec/wave.h"
#include "timing/cu_recording.h"
#include "timing/unit_cycles.h"

namespace rpd {

struct RecordedPart;

// The timing of the workgroup that a wave belongs to.
struct GroupTiming {
  RecordedPart* part = nullptr;    // null for workgroups of CUs other than the timed one
  uint32_t running = 0;           // waves that have not ended
  uint64_t longest_wave = 0;      // cycles, among the waves that have ended
  uint64_t longest_recorded = 0;  // the same, for the recorded parts of these waves
  uint64_t max_instructions = 0; // instructions, among the same waves
  bool changes_memory = false;    // whether any of these waves has changed memory
};

struct WaveTiming {
  static constexpr uint32_t kOutstanding = 64;
  using Completions = std::array<uint64_t, kOutstanding>;

  uint64_t clock = 0;                  // cycles, as if the wave were alone on the device
  uint32_t cu = 0;
  uint32_t l1 = 0;                     // of the XCD
  uint32_t simd = 0;                   // of the CU
  GroupTiming* group = nullptr;
  WaveUnits units = {};
  uint64_t atomics = 0;                // atomic requests to the L2
  bool changes_memory = false;         // whether the wave has written or updated memory
  WaveRecording* recording = nullptr;  // where this wave is recorded; null if it is not
  // When the outstanding accesses will complete.
  uint64_t scalar_done = 0;            // scalar and LDS accesses
  uint64_t stores_done = 0;            // stores, only if they are counted separately
  uint32_t vector_issued = 0;          // vector memory instructions so far
  Completions* vector_done = nullptr;  // [issued % kOutstanding]; stored separately because not all waves need it

  // Where to record the memory demands of the most recently issued instruction; null if the wave is not recorded.
  AccessCost* cost() const { return recording ? &recording->cost_of_last() : nullptr; }
};

}  // namespace rpd
