// One accelerator die (XCD), which runs its share of the workgroups in a fixed order on its CUs.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/access_watch.h"
#include "exec/device_observer.h"
#include "exec/dispatched_kernel.h"
#include "exec/global_wave_sync.h"
#include "exec/issue_log.h"
#include "exec/race_check.h"
#include "exec/wave_slots.h"
#include "exec/workgroup.h"

namespace rpd {

// Where and why execution stopped for good.
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
  // `observer` must outlive the Xcd.
  Xcd(uint32_t index, XcdObserver& observer);

  // `race_check`, if not null, watches all accesses and decides the order of execution.
  void begin(const DispatchedKernel& kernel, uint32_t resident_groups, RaceCheck* race_check = nullptr);
  // Lets every resident wave run one slice. Returns false when the dispatch is done on this XCD (or has faulted).
  bool step();
  bool done() const { return active_.empty() && all_launched(); }
  // The workgroups that are on this XCD now.
  std::span<Workgroup* const> resident() const { return active_; }
  // From now on, reports the resident waves' accesses to `watch`; with null, stops reporting them.
  void watch(AccessWatch* watch);

  const Fault& fault() const { return fault_; }
  uint64_t instructions() const { return instructions_; }  // executed so far
  uint64_t workgroups_done() const;

 private:
  bool all_launched() const { return next_group_ >= kernel_->group_count(); }
  void launch_groups();
  void launch_next(Workgroup& group);
  void report_issued(Wave& wave);
  void start_run(Wave& wave, const Op& op);
  bool can_issue_whole(const StraightRun& run, const Wave& wave) const;
  template <bool Checked>
  uint32_t issue_slice(Wave& wave);
  uint32_t run_slice(Wave& wave);
  void stop_at(const Op* op, const Wave& wave);
  void fail_if_stuck_at_global_barrier();
  bool run_group(Workgroup& group);

  uint32_t index_;
  const DispatchedKernel* kernel_ = nullptr;
  uint64_t next_group_ = 0;
  std::vector<std::unique_ptr<Workgroup>> groups_;  // room for the workgroups on this XCD, kept from dispatch to dispatch
  std::vector<Workgroup*> active_;                  // on this XCD, in the order in which they run
  std::deque<Workgroup*> free_;                     // room for the next workgroups, in the order in which it is taken
  WaveSlots wave_slots_;
  uint64_t instructions_ = 0;
  IssueLog issued_;
  Fault fault_;
  GlobalWaveSync sync_;
  RaceCheck* race_check_ = nullptr;
  XcdObserver& observer_;
  RaceCheckObserver race_check_observer_{observer_};
  AccessWatchObserver access_watch_observer_{observer_};
};

}  // namespace rpd
