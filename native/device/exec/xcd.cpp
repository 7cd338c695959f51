#include "exec/xcd.h"

#include <algorithm>

#include "isa/program.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr int kSliceLimit = 4096;  // instructions without a memory access before others get a turn
constexpr uint32_t kSinglePrecisionDenormals = 0x30;

}  // namespace

Xcd::Xcd(uint32_t index) : index_(index), work_(parameter::cus_per_xcd) {}

void Xcd::begin(const Kernel& kernel, uint32_t resident_groups) {
  kernel_ = &kernel;
  resident_groups_ = resident_groups;
  next_group_ = index_;
  fault_ = {};
  active_ = 0;
  executed_.assign(kernel.program->op_count(), 0);
  trace_.begin(resident_groups);
  std::fill(work_.begin(), work_.end(), CuWork{});
  memory_.begin(kernel.request.acquires);
  const uint64_t total = kernel.group_count();
  const uint64_t mine = total > index_ ? (total - index_ - 1) / parameter::xcds + 1 : 0;
  const size_t room = std::min<uint64_t>(mine, static_cast<uint64_t>(resident_groups) * parameter::cus_per_xcd);
  while (groups_.size() < room) groups_.push_back(std::make_unique<Workgroup>());
  // One workgroup to each CU in turn, as the dispatcher does.
  for (size_t i = 0; i < room; ++i) {
    if (launch_next(*groups_[i], static_cast<uint32_t>(i % parameter::cus_per_xcd))) ++active_;
  }
}

bool Xcd::launch_next(Workgroup& group, uint32_t cu) {
  if (next_group_ >= kernel_->group_count()) return false;
  group.start(*kernel_, next_group_, cu, &memory_);
  if (index_ == 0 && cu == 0) trace_.record(group);
  next_group_ += parameter::xcds;
  return true;
}

template <bool Traced>
void Xcd::run_slice(Wave& wave) {
  const Op* op = wave.pc;
  uint64_t& instructions = work_[wave.cu].instructions;
  const bool flushes = (wave.mode & kSinglePrecisionDenormals) != kSinglePrecisionDenormals;
  for (int left = kSliceLimit; left > 0; --left) {
    if (op->index >= executed_.size()) executed_.resize(kernel_->program->op_count(), 0);
    ++executed_[op->index];
    if constexpr (Traced) wave.access = {};
    ++instructions;
    wave.clock += op->wave_cycles;
    if (flushes && op->single_precision) wave.raise("single-precision arithmetic with flushed denormals is not modelled", op->address);
    wave.pc = op->next;
    if (wave.state == WaveState::Running) op->execute(*op, wave);
    if (wave.state == WaveState::Faulted) {
      fault_ = {op, wave.fault, wave.fault_address};
      return;
    }
    if constexpr (Traced) wave.trace->add(*op, wave.access);
    if (op->ends_slice) return;
    op = wave.pc;
  }
}

void Xcd::retire(Wave& wave) {
  CuWork& cu = work_[wave.cu];
  ++cu.waves;
  cu.wave_cycles += wave.clock;
  cu.longest_wave = std::max(cu.longest_wave, wave.clock);
  --wave.group->left;
}

bool Xcd::step() {
  for (size_t i = 0; i < active_;) {
    Workgroup& group = *groups_[i];
    for (Wave& wave : group.waves) {
      if (wave.state != WaveState::Running) continue;
      wave.trace ? run_slice<true>(wave) : run_slice<false>(wave);
      if (fault_) return false;
      if (wave.state == WaveState::Ended) retire(wave);
    }
    group.release_barrier();
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

void Xcd::end() { memory_.end(kernel_->request.releases); }

}  // namespace rpd
