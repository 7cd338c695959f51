// One accelerator die: its share of the workgroups, run in a fixed order on its CUs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/access_watch.h"
#include "exec/race_check.h"
#include "exec/wave_places.h"
#include "exec/workgroup.h"
#include "timing/duration.h"
#include "timing/wave_trace.h"
#include "timing/memory_system.h"
#include "timing/wave_counts.h"

namespace rpd {

// Where execution stopped for good.
struct Fault {
  const Op* op = nullptr;
  const char* why = nullptr;
  FaultKind kind = FaultKind::IllegalInstruction;
  int lane = -1;
  uint32_t wave = 0;
  uint64_t workgroup = 0;
  uint64_t address = 0;
  explicit operator bool() const { return op != nullptr; }
};

class Xcd {
 public:
  explicit Xcd(uint32_t index);

  // `race_check`, if there is one, watches all accesses and decides the order of execution.
  void begin(const Kernel& kernel, uint32_t resident_groups, RaceCheck* race_check = nullptr);
  // Lets every resident wave run one slice. False when the dispatch is done here (or has faulted).
  bool step();
  void end();
  // Those on the device now.
  std::span<const std::unique_ptr<Workgroup>> resident() const { return {groups_.data(), active_}; }
  // From now on `watch` sees what the resident waves access, until it is null.
  void watch(AccessWatch* watch);
  void forget_caches() { memory_.forget(); }

  const Fault& fault() const { return fault_; }
  const std::vector<uint64_t>& executed() const { return executed_; }  // [Op index]
  const std::vector<CuWork>& work() const { return work_; }            // [cu]
  const CuWork& recorded() const { return recorded_; }
  const CuTrace& trace() const { return trace_; }
  const CuTrace& thread_trace() const { return times(kernel_->request.traced_cu.value_or(0)) ? trace_ : thread_trace_; }
  const WaveCounts& waves() const { return waves_; }
  const MemoryCounts& memory() const { return memory_.counts(); }
  const std::vector<uint64_t>& lines_read() const { return memory_.lines_read(); }
  const std::vector<uint64_t>& lines_written() const { return memory_.lines_written(); }
  uint32_t resident_groups() const { return resident_groups_; }
  uint64_t instructions() const;  // executed so far
  uint64_t workgroups_done() const;

 private:
  // Whether the dispatch's time is that of this CU.
  bool times(uint32_t cu) const { return index_ == kernel_->timed_xcd && cu == kernel_->timed_cu; }
  bool launch_next(Workgroup& group, uint32_t cu);
  template <bool Traced, bool Checked>
  void run_slice(Wave& wave);
  void run_slice(Wave& wave);
  void retire(Wave& wave);
  void retire_recorded(const Wave& wave);
  void stop_at(const Op* op, const Wave& wave);
  bool run_group(Workgroup& group);

  uint32_t index_;
  const Kernel* kernel_ = nullptr;
  uint32_t resident_groups_ = 0;
  uint64_t next_group_ = 0;
  std::vector<std::unique_ptr<Workgroup>> groups_;  // those on the device; storage is kept from dispatch to dispatch
  size_t active_ = 0;              // how many of them are in use
  WavePlaces places_;
  std::vector<uint64_t> executed_;
  std::vector<CuWork> work_;
  CuWork recorded_;                // of the CU that is replayed: what the recording has
  WaveCounts waves_;
  MemorySystem memory_;
  CuTrace trace_;                  // of the first CU of the first XCD
  CuTrace thread_trace_;           // of the CU whose thread trace is wanted, if it is another
  Fault fault_;
  RaceCheck* race_check_ = nullptr;
  RaceCheckedMemory checked_memory_{memory_};
  WatchedMemory watched_memory_{memory_};
};

}  // namespace rpd
