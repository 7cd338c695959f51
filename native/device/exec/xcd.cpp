#include "exec/xcd.h"

#include <algorithm>

#include "exec/execute_instruction.h"
#include "isa/program.h"

namespace rpd {
namespace {

// Whether more than one wave can continue.
bool several_run(const Workgroup& group) {
  const auto runs = [](const Wave& wave) { return wave.state == WaveState::Running; };
  return std::count_if(group.waves.begin(), group.waves.end(), runs) > 1;
}

constexpr uint32_t kSliceLimit = 4096;  // instructions after which a slice ends even if none of them has ended it

}  // namespace

Xcd::Xcd(uint32_t index, XcdObserver& observer) : index_(index), wave_slots_(index), observer_(observer) {}

void Xcd::begin(const DispatchedKernel& kernel, uint32_t resident_groups, RaceCheck* race_check) {
  race_check_ = race_check;
  race_check_observer_.begin(race_check);
  kernel_ = &kernel;
  next_group_ = index_;
  fault_ = {};
  sync_ = {};
  active_.clear();
  free_.clear();
  wave_slots_.clear();
  instructions_ = 0;
  issued_.clear();
  observer_.begin(kernel, resident_groups);
  const uint64_t total = kernel.group_count();
  const uint64_t own_groups = total > index_ ? (total - index_ - 1) / target::xcds() + 1 : 0;
  const size_t room = std::min<uint64_t>(own_groups, static_cast<uint64_t>(resident_groups) * target::cus_per_xcd());
  while (groups_.size() < room) {
    groups_.push_back(std::make_unique<Workgroup>());
    groups_.back()->slot = (groups_.size() - 1) * target::xcds() + index_;
  }
  for (const auto& group : groups_) group->waves.clear();  // their lists of accessible ranges do not hold for a new dispatch
  // Assigns the workgroups to the CUs in turn, as the dispatcher does.
  for (size_t i = 0; i < room; ++i) {
    groups_[i]->cu = static_cast<uint32_t>(i % target::cus_per_xcd());
    free_.push_back(groups_[i].get());
  }
}

// Workgroups start one after another: while the waves on the device run one slice, at most one workgroup per shader engine
// starts. If all waves started at once, they would stay in lockstep and miss the caches together, whereas on a GPU one wave
// finds in the cache what another has loaded.
void Xcd::launch_groups() {
  for (uint32_t i = 0; i < target::shader_engines_per_xcd() && !free_.empty() && !all_launched(); ++i) {
    launch_next(*free_.front());
    active_.push_back(free_.front());
    free_.pop_front();
  }
}

void Xcd::launch_next(Workgroup& group) {
  InstructionObserver* observer = &observer_;
  uint64_t id = next_group_;
  if (race_check_) {
    observer = &race_check_observer_;
    id = race_check_->permuted(next_group_, kernel_->group_count());
  }
  group.start(*kernel_, id, group.cu, observer, &issued_);
  if (race_check_) group.outstanding.assign(group.waves.size(), {});
  for (Wave& wave : group.waves) wave.sync = &sync_;
  wave_slots_.enter(*kernel_, group);
  observer_.launched(group);
  next_group_ += target::xcds();
}

void Xcd::report_issued(Wave& wave) {
  observer_.issued(wave, issued_.runs());
  issued_.clear();
}

inline void Xcd::start_run(Wave& wave, const Op& op) {
  if (issued_.is_full()) [[unlikely]]
    report_issued(wave);
  issued_.start(op.index, wave.exec());
}

// Whether the instructions of the run can be issued without any checks between them.
inline bool Xcd::can_issue_whole(const StraightRun& run, const Wave& wave) const {
  return run.length > 1 && is_usual(wave.mode) && run.vector_registers <= kernel_->vgprs && run.accumulators <= kernel_->agprs;
}

// Returns the number of instructions issued.
template <bool Checked>
uint32_t Xcd::issue_slice(Wave& wave) {
  const Op* op = wave.pc;
  uint32_t count = 0;
  while (count < kSliceLimit) {
    if (!issued_.extend(op->index, wave.exec())) start_run(wave, *op);
    if (!Checked && can_issue_whole(op->run, wave)) {
      const uint32_t together = std::min<uint32_t>(op->run.length, kSliceLimit - count);
      issued_.extend_by(together - 1);
      count += together;
      wave.pc = op = execute_run(op, together, wave);
      continue;
    }
    ++count;
    wave.pc = op->next;
    if (op->vector_registers > kernel_->vgprs || op->accumulators > kernel_->agprs) {
      wave.raise("a register not allocated to the kernel", op->address);
    }
    if constexpr (Checked) {
      if (wave.state == WaveState::Running) race_check_->issue(wave, *op);
    }
    if (wave.state == WaveState::Running) execute(*op, wave);
    if (wave.state == WaveState::Faulted) {
      stop_at(op, wave);
      break;
    }
    if (op->ends_slice) break;
    op = wave.pc;
  }
  return count;
}

uint32_t Xcd::run_slice(Wave& wave) {
  const uint32_t count = race_check_ ? issue_slice<true>(wave) : issue_slice<false>(wave);
  report_issued(wave);
  return count;
}

void Xcd::stop_at(const Op* op, const Wave& wave) {
  fault_ = {op, wave.fault, wave.fault_kind, wave.fault_lane, wave.index_in_group, wave.group->id, wave.fault_address};
}

// Lets each wave run a slice; returns false after a fault.
bool Xcd::run_group(Workgroup& group) {
  const size_t count = group.waves.size();
  const size_t first = race_check_ ? race_check_->first_wave(count) : 0;
  const size_t paused = race_check_ && several_run(group) ? race_check_->paused_wave(group) : count;
  ++group.turns;
  for (size_t i = 0; i < count; ++i) {
    const size_t number = first + i < count ? first + i : first + i - count;
    Wave& wave = group.waves[number];
    if (wave.state == WaveState::AtGlobalBarrier && wave.generation != sync_.generation) wave.state = WaveState::Running;
    if (wave.state != WaveState::Running || number == paused) continue;
    const Op* op = wave.pc;
    const uint32_t count = run_slice(wave);
    wave.executed += count;
    instructions_ += count;
    if (wave.executed > kernel_->instruction_limit && wave.state == WaveState::Running) {
      wave.raise("the kernel does not end: a wave has executed more instructions than kernel-limit allows", op->address,
                 FaultKind::LimitReached);
      stop_at(op, wave);
    }
    if (fault_) return false;
    if (wave.state != WaveState::Ended) continue;
    observer_.ended(wave);
    --group.unfinished_waves;
  }
  if (group.has_met()) {
    observer_.barrier_passed(group);
    group.release_barrier();
  }
  return true;
}

// Raises a fault if waves on the device are waiting at the global barrier for other waves that will never get a slot.
void Xcd::fail_if_stuck_at_global_barrier() {
  for (Workgroup* group : active_) {
    for (Wave& wave : group->waves) {
      if (wave.state != WaveState::AtGlobalBarrier) continue;
      wave.raise("the global barrier waits for more waves than the device holds at a time", 0, FaultKind::LimitReached);
      return stop_at(wave.pc, wave);
    }
  }
}

bool Xcd::step() {
  const uint64_t before = instructions_;
  launch_groups();
  for (Workgroup* group : active_) {
    if (!run_group(*group)) return false;
    if (group->unfinished_waves > 0) continue;
    wave_slots_.leave(*group);
    free_.push_back(group);
  }
  std::erase_if(active_, [](const Workgroup* group) { return group->unfinished_waves == 0; });
  if (!active_.empty() && instructions_ == before) fail_if_stuck_at_global_barrier();
  return !done() && !fault_;
}

void Xcd::watch(AccessWatch* watch) {
  access_watch_observer_.begin(watch);
  for (Workgroup* group : active_)
    for (Wave& wave : group->waves)
      wave.observer = watch ? static_cast<InstructionObserver*>(&access_watch_observer_) : &observer_;
}

// The XCD's share is every xcds()-th workgroup of the grid, started in order.
uint64_t Xcd::workgroups_done() const { return (next_group_ - index_) / target::xcds() - active_.size(); }

}  // namespace rpd
