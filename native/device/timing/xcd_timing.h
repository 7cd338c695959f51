// Counts and times what one XCD executes, wave by wave, as if each wave were alone on the device; also records one of its CUs,
// so that the dispatch's time can be computed from a replay of that CU.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "exec/device_observer.h"
#include "exec/dispatched_kernel.h"
#include "timing/cu_recording.h"
#include "timing/issue_costs.h"
#include "timing/memory_system.h"
#include "timing/timing_options.h"
#include "timing/wave_counts.h"
#include "timing/wave_timing.h"
#include "timing/work_done.h"

namespace rpd {

// The XCD of CU number `choice`; the CUs that the kernel uses are numbered across the XCDs in turn.
uint32_t timed_xcd(const DispatchedKernel& kernel, uint64_t choice);

// Chooses which of a CU's later workgroups to record: one from each of several equal parts, drawn at random so that a kernel
// can hardly treat the recorded workgroups differently from the rest.
class LaterGroupChoice {
 public:
  // `groups`: about how many later workgroups there will be. `recorded`: how many of them to record.
  void begin(uint64_t groups, uint64_t recorded, uint64_t seed);
  bool begun() const { return begun_; }
  // Whether to record the next workgroup.
  bool next();

 private:
  void draw();

  bool begun_ = false;
  uint64_t groups_ = 0, recorded_ = 0, seed_ = 0;
  uint64_t number_ = 0, part_ = 0, drawn_ = 0;
};

class XcdTiming final : public XcdObserver {
 public:
  // `options` must outlive this object. `options.timed_cu` also determines which CU is recorded on the other XCDs. `mall`: the
  // device's Infinity Cache.
  XcdTiming(uint32_t index, const TimingOptions& options, const Mall& mall);

  void begin(const DispatchedKernel& kernel, uint32_t resident_groups) override;
  void launched(Workgroup& group) override;
  void issued(Wave& wave, std::span<const IssuedRun> runs) override;
  void vector_access(Wave& wave, const Op& op, const VectorAccess& access) override;
  void scalar_access(Wave& wave, uint64_t address, uint32_t bytes) override;
  void wait(Wave& wave, const WaitCounts& limits) override;
  uint64_t clock(Wave& wave) override;
  void barrier_passed(Workgroup& group) override;
  void ended(const Wave& wave) override;

  // Called when the dispatch has ended. If it ends with a release, dirty lines are written to memory.
  void end(bool releases) {
    if (observes_) memory_.end(releases);
    else memory_.end_without_cache_models();
  }
  // Whether the dispatch was observed to the end. If not, all cycle counts and the counts that depend on the cache models are
  // incomplete.
  bool observed() const { return observes_; }
  void invalidate_caches() {
    memory_.invalidate();
    samples_from_start_ = false;
  }
  // To be called if an XCD of the context was not observed to the end of a dispatch. From then on, every dispatch that can be
  // sampled is sampled from its beginning, because the state of that XCD's L2 is unknown.
  void sample_from_start() { samples_from_start_ = true; }
  MemorySystem& memory_system() { return memory_; }
  uint32_t index() const { return index_; }

  // Adds to each element of `to` the number of times that its instruction was executed. [Op index]
  void add_executed(std::vector<uint64_t>& to) const;
  uint32_t resident_groups() const { return resident_groups_; }  // workgroups that fit on a CU at a time
  const WaveCounts& waves() const { return waves_; }
  const MemoryCounts& memory() const { return memory_.counts(); }
  XcdWork work() const {
    return {&work_,
            &memory_.counts(),
            &memory_.lines_read(),
            &memory_.lines_written().lines(),
            &memory_.updates(),
            &memory_.before_tracking(),
            tracks_touched_lines_ ? &memory_.touched_lines() : nullptr};
  }
  // The XCD's recorded CU; its recording is empty if the XCD has no workgroups.
  RecordedCu recorded_cu() {
    follow_program();  // another XCD may have caused more code to be decoded
    return {first_groups_, later_groups_, costs_, work_[timed_cu_], resident_groups_};
  }
  // The recording of the CU whose thread trace is wanted, if that CU is on this XCD.
  const CuRecording& thread_trace() const { return is_timed(*traced_cu_) ? first_groups_.recording : thread_trace_; }

 private:
  // The waves of a workgroup on the XCD. The storage is reused for the next workgroup in the same slot.
  struct GroupSlotTiming {
    GroupTiming group;
    std::vector<WaveTiming> waves;
    std::vector<WaveTiming::Completions> vector_done;
  };

  bool is_timed(uint32_t cu) const { return cu == timed_cu_; }
  void become_large();
  const CuRecording::Group* record(uint32_t cu, GroupTiming& group, size_t waves);
  void follow_program();
  void advance(WaveTiming& wave, uint32_t first, uint32_t end, uint64_t exec);
  void advance_over_all_but_last(WaveTiming& wave, std::span<const IssuedRun> runs);
  void advance(WaveTiming& wave, std::span<const IssuedRun> runs);
  WaveTiming& catch_up(Wave& wave);
  static void retire(CuWork& cu, const WaveTiming& wave, uint64_t executed);
  static uint64_t retire_recorded(CuWork& recorded, const WaveTiming& wave, uint64_t executed);

  uint32_t index_;
  const TimingOptions& options_;
  const Mall& mall_;
  uint32_t timed_cu_ = 0;
  std::optional<uint32_t> traced_cu_;
  uint32_t resident_groups_ = 0;
  const Program* program_ = nullptr;
  bool samples_from_start_ = false;
  bool is_in_sample_ = true;
  bool observes_ = true;              // caches and times, ...
  bool tracks_touched_lines_ = false;                // ... and which lines are touched
  uint64_t instructions_left_ = 0;    // how many more until the dispatch counts as large
  IssueCosts costs_;
  uint32_t known_end_ = 0;            // one past the last Op index that costs_ has
  const IssuedRun* reached_ = nullptr; // the run in the log that the clock has reached, ...
  uint32_t reached_end_ = 0;           // ... up to this Op index
  std::vector<uint64_t> executed_;    // [Op index]: executions in excess of those of the preceding Op
  std::vector<CuWork> work_;          // [cu]
  WaveCounts waves_;
  MemorySystem memory_;
  std::deque<GroupSlotTiming> slots_;      // [workgroup's slot among this XCD's]
  RecordedPart first_groups_, later_groups_;          // of the timed CU
  uint64_t groups_of_cu_ = 0;         // approximate
  LaterGroupChoice later_choice_;
  CuRecording thread_trace_;          // of the CU whose thread trace is wanted, unless that is the timed CU
};

}  // namespace rpd
