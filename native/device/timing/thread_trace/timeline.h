// What the waves of one CU did and when, recorded during a replay of the CU.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/cu_recording.h"
#include "timing/cu_replay_observer.h"

namespace rpd {

// An instruction of a wave, in the form used by gfx9 hardware thread traces: the wave reached it at `time`, and it stalled for
// `stall` cycles before it issued; `latency` is the total time in cycles.
struct TimelineEntry {
  const Op* op;
  uint64_t time;
  uint32_t stall;
  uint32_t latency;
};

struct TimelineWave {
  uint32_t simd = 0;
  uint32_t slot = 0;      // the SIMD's lowest slot that was free
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t lost = 0;      // instructions for which the recording had no room
  std::vector<TimelineEntry> entries;
};

class Timeline : public CuReplayObserver {
 public:
  void launched(uint32_t wave, uint32_t simd, uint64_t time) override;
  void executed(uint32_t wave, const Op& op, uint64_t arrived, uint64_t issued, uint64_t done) override;
  void ended(uint32_t wave, uint64_t time) override;
  // Copies, for each wave, the number of instructions for which the recording had no room.
  void note_unrecorded(const CuRecording& recording);

  const std::vector<TimelineWave>& waves() const { return waves_; }  // in the order of launch

 private:
  static constexpr uint32_t kSlots = 64;
  std::vector<TimelineWave> waves_;
  std::vector<std::vector<bool>> occupied_;  // [simd][slot]
};

}  // namespace rpd
