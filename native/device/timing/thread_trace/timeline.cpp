#include "timing/thread_trace/timeline.h"

#include <algorithm>

#include "isa/semantics.h"

namespace rpd {

void Timeline::launched(uint32_t wave, uint32_t simd, uint64_t time) {
  if (wave >= waves_.size()) waves_.resize(wave + 1);
  if (simd >= occupied_.size()) occupied_.resize(simd + 1, std::vector<bool>(kSlots));
  auto& slots = occupied_[simd];
  const auto free = std::find(slots.begin(), slots.end(), false);
  TimelineWave& launched = waves_[wave];
  launched.simd = simd;
  launched.slot = static_cast<uint32_t>(free - slots.begin());
  launched.begin = launched.end = time;
  if (free != slots.end()) *free = true;
}

// Instructions that wait in the instruction buffer (waits, barriers, no-ops) never issue: all their time counts as a stall.
void Timeline::executed(uint32_t wave, const Op& op, uint64_t arrived, uint64_t issued, uint64_t done) {
  const Unit unit = op.semantics->unit;
  const bool stays_in_buffer = unit == Unit::Wait || unit == Unit::Barrier || unit == Unit::Nop;
  const auto latency = static_cast<uint32_t>(done - arrived);
  const auto stall = stays_in_buffer ? latency : static_cast<uint32_t>(issued - arrived);
  waves_[wave].entries.push_back({&op, arrived, stall, latency});
}

void Timeline::ended(uint32_t wave, uint64_t time) {
  TimelineWave& ended = waves_[wave];
  ended.end = time;
  if (ended.slot < kSlots) occupied_[ended.simd][ended.slot] = false;
}

void Timeline::note_unrecorded(const CuRecording& recording) {
  size_t wave = 0;
  for (const auto& group : recording.groups()) {
    for (const auto& recorded : group) {
      if (wave < waves_.size()) waves_[wave++].lost = recorded->lost();
    }
  }
}

}  // namespace rpd
