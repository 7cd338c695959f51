#include "exec/xcd.h"

#include <algorithm>
#include <bit>

#include "exec/execute.h"
#include "isa/program.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr int kSliceLimit = 4096;  // instructions without a memory access before others get a turn

}  // namespace

Xcd::Xcd(uint32_t index) : index_(index), places_(index), work_(parameter::cus_per_xcd) {}

void Xcd::begin(const Kernel& kernel, uint32_t resident_groups, RaceCheck* race_check) {
  race_check_ = race_check;
  checked_memory_.begin(race_check);
  kernel_ = &kernel;
  resident_groups_ = resident_groups;
  next_group_ = index_;
  fault_ = {};
  active_ = 0;
  places_.clear();
  executed_.assign(kernel.program->op_count(), 0);
  trace_.begin(resident_groups);
  thread_trace_.begin(resident_groups);
  std::fill(work_.begin(), work_.end(), CuWork{});
  recorded_ = {};
  waves_ = {};
  memory_.begin(kernel.request.acquires, kernel.memory->map());
  const uint64_t total = kernel.group_count();
  const uint64_t mine = total > index_ ? (total - index_ - 1) / parameter::xcds + 1 : 0;
  const size_t room = std::min<uint64_t>(mine, static_cast<uint64_t>(resident_groups) * parameter::cus_per_xcd);
  while (groups_.size() < room) {
    groups_.push_back(std::make_unique<Workgroup>());
    groups_.back()->slot = (groups_.size() - 1) * parameter::xcds + index_;
  }
  // One workgroup to each CU in turn, as the dispatcher does.
  for (size_t i = 0; i < room; ++i) {
    if (launch_next(*groups_[i], static_cast<uint32_t>(i % parameter::cus_per_xcd))) ++active_;
  }
}

bool Xcd::launch_next(Workgroup& group, uint32_t cu) {
  if (next_group_ >= kernel_->group_count()) return false;
  Observer* observer = &memory_;
  uint64_t id = next_group_;
  if (race_check_) {
    observer = &checked_memory_;
    id = race_check_->permuted(next_group_, kernel_->group_count());
  }
  group.start(*kernel_, id, cu, observer);
  if (race_check_) group.under_way.assign(group.waves.size(), {});
  places_.enter(*kernel_, group);
  if (times(cu)) {
    trace_.record(group);
  } else if (index_ == 0 && kernel_->request.traced_cu == cu) {
    thread_trace_.record(group);
  }
  for (Wave& wave : group.waves) {
    waves_.launch(wave.exec());
    wave.simd = static_cast<uint32_t>(++work_[cu].launched % parameter::simds_per_cu);
  }
  next_group_ += parameter::xcds;
  return true;
}

template <bool Traced, bool Checked>
void Xcd::run_slice(Wave& wave) {
  const Op* op = wave.pc;
  uint64_t& instructions = work_[wave.cu].instructions;
  uint64_t& thread_quads = waves_.valu_thread_quads;
  for (int left = kSliceLimit; left > 0; --left) {
    if (op->index >= executed_.size()) executed_.resize(kernel_->program->op_count(), 0);
    ++executed_[op->index];
    if constexpr (Traced) wave.access = {};
    ++instructions;
    thread_quads += static_cast<uint64_t>(std::popcount(wave.exec())) * op->valu_quads;
    wave.units.vector_quads += op->valu_quads;
    wave.units.matrix += op->matrix_cycles;
    wave.clock += op->wave_cycles;
    wave.pc = op->next;
    if (op->vector_registers > kernel_->vgprs || op->accumulators > kernel_->agprs) {
      wave.raise("a register that the kernel was not given", op->address);
    }
    if constexpr (Checked) {
      if (wave.state == WaveState::Running) race_check_->issue(wave, *op);
    }
    if (wave.state == WaveState::Running) execute(*op, wave);
    if (wave.state == WaveState::Faulted) {
      return stop_at(op, wave);
    }
    if constexpr (Traced) wave.trace->add(*op, wave.access);
    if (op->ends_slice) return;
    op = wave.pc;
  }
}

void Xcd::run_slice(Wave& wave) {
  if (race_check_) return wave.trace ? run_slice<true, true>(wave) : run_slice<false, true>(wave);
  wave.trace ? run_slice<true, false>(wave) : run_slice<false, false>(wave);
}

void Xcd::stop_at(const Op* op, const Wave& wave) {
  fault_ = {op, wave.fault, wave.fault_kind, wave.fault_lane, wave.index_in_group, wave.group->id, wave.fault_address};
}

void Xcd::retire(Wave& wave) {
  CuWork& cu = work_[wave.cu];
  ++cu.waves;
  cu.wave_cycles += wave.clock;
  cu.longest_wave = std::max(cu.longest_wave, wave.clock);
  cu.units.add(wave.units, wave.simd, wave.executed);
  if (wave.trace && times(wave.cu)) retire_recorded(wave);
  --wave.group->left;
}

// A recording may have had no room for all that the wave did.
void Xcd::retire_recorded(const Wave& wave) {
  const uint64_t entries = wave.trace->entries().size();
  const double share = static_cast<double>(entries) / static_cast<double>(entries + wave.trace->lost());
  const auto clock = static_cast<uint64_t>(static_cast<double>(wave.clock) * share);
  ++recorded_.waves;
  recorded_.instructions += entries;
  recorded_.wave_cycles += clock;
  recorded_.longest_wave = std::max(recorded_.longest_wave, clock);
  recorded_.units.add(wave.units, wave.simd, wave.executed, share);
}

// Lets each wave run a slice; false after a fault.
bool Xcd::run_group(Workgroup& group) {
  const size_t count = group.waves.size();
  const size_t first = race_check_ ? race_check_->first_wave(count) : 0;
  const uint64_t& instructions = work_[group.cu].instructions;
  for (size_t i = 0; i < count; ++i) {
    Wave& wave = group.waves[first + i < count ? first + i : first + i - count];
    if (wave.state != WaveState::Running) continue;
    const uint64_t before = instructions;
    const Op* op = wave.pc;
    run_slice(wave);
    wave.executed += instructions - before;
    if (wave.executed > kernel_->instruction_limit && wave.state == WaveState::Running) {
      wave.raise("the kernel does not end: a wave has executed more instructions than the kernel-limit", op->address,
                 FaultKind::LimitReached);
      stop_at(op, wave);
    }
    if (fault_) return false;
    if (wave.state == WaveState::Ended) retire(wave);
  }
  group.release_barrier();
  return true;
}

bool Xcd::step() {
  for (size_t i = 0; i < active_;) {
    Workgroup& group = *groups_[i];
    if (!run_group(group)) return false;
    if (group.left == 0) places_.leave(group);
    if (group.left == 0 && !launch_next(group, group.cu)) {
      // Keep the order of the others: it is part of the result's determinism.
      std::rotate(groups_.begin() + i, groups_.begin() + i + 1, groups_.begin() + active_);
      --active_;
    } else {
      ++i;
    }
  }
  return active_ > 0;
}

void Xcd::watch(AccessWatch* watch) {
  watched_memory_.begin(watch);
  for (size_t i = 0; i < active_; ++i)
    for (Wave& wave : groups_[i]->waves) wave.observer = watch ? static_cast<Observer*>(&watched_memory_) : &memory_;
}

uint64_t Xcd::instructions() const {
  uint64_t sum = 0;
  for (const CuWork& cu : work_) sum += cu.instructions;
  return sum;
}

// Its share is every so-manieth of the grid, taken up in order.
uint64_t Xcd::workgroups_done() const { return (next_group_ - index_) / parameter::xcds - active_; }

void Xcd::end() { memory_.end(kernel_->request.releases); }

}  // namespace rpd
