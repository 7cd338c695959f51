#include "timing/xcd_timing.h"

#include <algorithm>
#include <bit>
#include <random>

#include "isa/program.h"
#include "timing/xcd_sample.h"

namespace rpd {

namespace {

// The maximum number of entries in a recording that is not certain to be replayed.
constexpr uint32_t kMaxEntriesIfNotReplayed = CuRecording::kMaxEntries / 8;

// Workgroups are assigned to the XCDs in turn, and within an XCD to its CUs in turn: see Xcd::begin().
uint32_t timed_cu_of(const DispatchedKernel& kernel, uint32_t xcd, uint64_t choice) {
  const uint64_t groups = kernel.group_count();
  const uint64_t of_xcd = groups > xcd ? (groups - xcd - 1) / target::xcds() + 1 : 1;
  return static_cast<uint32_t>(choice / target::xcds() % std::min<uint64_t>(of_xcd, target::cus_per_xcd()));
}

}  // namespace

uint32_t timed_xcd(const DispatchedKernel& kernel, uint64_t choice) {
  return static_cast<uint32_t>(choice % std::min<uint64_t>(kernel.group_count(), target::xcds()));
}

void LaterGroupChoice::begin(uint64_t groups, uint64_t recorded, uint64_t seed) {
  *this = {};
  begun_ = true;
  groups_ = groups;
  recorded_ = std::min(groups, recorded);
  seed_ = seed;
  if (recorded_) draw();
}

void LaterGroupChoice::draw() {
  const uint64_t begin = part_ * groups_ / recorded_, end = (part_ + 1) * groups_ / recorded_;
  std::seed_seq seeds{seed_, part_, groups_};
  uint32_t value;
  seeds.generate(&value, &value + 1);
  drawn_ = begin + value % (end - begin);
}

bool LaterGroupChoice::next() {
  if (part_ >= recorded_ || number_++ != drawn_) return false;
  if (++part_ < recorded_) draw();
  return true;
}

XcdTiming::XcdTiming(uint32_t index, const TimingOptions& options, const Mall& mall)
    : index_(index), options_(options), mall_(mall), work_(target::cus_per_xcd()) {}

void XcdTiming::begin(const DispatchedKernel& kernel, uint32_t resident_groups) {
  is_in_sample_ = in_sample(index_, options_.timed_cu, kernel);
  observes_ = true;
  tracks_touched_lines_ = false;
  instructions_left_ = can_be_sampled(kernel) ? options_.sampled_beyond : TimingOptions::kNever;
  timed_cu_ = timed_cu_of(kernel, index_, options_.timed_cu);
  traced_cu_ = kernel.request.traced_cu;
  resident_groups_ = resident_groups;
  program_ = kernel.program;
  reached_ = nullptr;
  executed_.clear();
  follow_program();
  const bool replayed = index_ == timed_xcd(kernel, options_.timed_cu) || (index_ == 0 && traced_cu_);
  first_groups_.recording.begin(0, CuRecording::kAllGroups, replayed ? CuRecording::kMaxEntries : kMaxEntriesIfNotReplayed);
  later_groups_.recording.begin(1, CuRecording::kAllGroups, kMaxEntriesIfNotReplayed);
  first_groups_.recorded_work = first_groups_.all_work = later_groups_.recorded_work = later_groups_.all_work = {};
  groups_of_cu_ = kernel.group_count() / (uint64_t{target::xcds()} * target::cus_per_xcd());
  later_choice_ = {};
  // Three times the number of resident workgroups, to show how the CU fills up, runs full and drains.
  thread_trace_.begin(2, std::max(8u, 3 * resident_groups));
  std::fill(work_.begin(), work_.end(), CuWork{});
  waves_ = {};
  memory_.begin(kernel.memory->map(), mall_);
  if (samples_from_start_ && can_be_sampled(kernel)) become_large();
}

void XcdTiming::launched(Workgroup& group) {
  const size_t slot = group.slot / target::xcds(), count = group.waves.size();
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  auto& [group_timing, timings, vector_done] = slots_[slot];
  timings.resize(count);
  vector_done.resize(count);
  group_timing = {.running = static_cast<uint32_t>(count)};
  const CuRecording::Group* recordings = observes_ ? record(group.cu, group_timing, count) : nullptr;
  for (size_t i = 0; i < count; ++i) {
    const auto simd = static_cast<uint32_t>(++work_[group.cu].launched % target::kSimdsPerCu);
    const uint32_t l1s = target_of_device().l1s_per_cu;
    timings[i] = {.cu = group.cu,
                  .l1 = group.cu * l1s + simd * l1s / target::kSimdsPerCu,
                  .simd = simd,
                  .group = &group_timing,
                  .recording = recordings ? (*recordings)[i].get() : nullptr,
                  .vector_done = &vector_done[i]};
    group.waves[i].timing = &timings[i];
    waves_.launch(group.waves[i].exec());
  }
}

// Returns the recordings for the waves of a workgroup that is starting; null if they are not recorded.
const CuRecording::Group* XcdTiming::record(uint32_t cu, GroupTiming& group, size_t waves) {
  if (!is_timed(cu)) return index_ == 0 && traced_cu_ == cu ? thread_trace_.record(waves) : nullptr;
  group.part = &first_groups_;
  if (const CuRecording::Group* recordings = first_groups_.recording.record(waves)) return recordings;
  group.part = &later_groups_;
  if (!later_choice_.begun()) {
    const uint64_t before = std::min<uint64_t>(groups_of_cu_, first_groups_.recording.groups().size());
    later_choice_.begin(groups_of_cu_ - before, std::max(4u, resident_groups_), options_.timed_cu);
  }
  return later_choice_.next() ? later_groups_.recording.record(waves) : nullptr;
}

// Called repeatedly because code that is reached only by computed jumps is decoded while waves run.
void XcdTiming::follow_program() {
  costs_.follow(*program_);
  known_end_ = static_cast<uint32_t>(costs_.count());
  executed_.resize(known_end_ + 1, 0);
}

// Advances the wave's clock, and its recording, past these instructions.
inline void XcdTiming::advance(WaveTiming& wave, uint32_t first, uint32_t end, uint64_t exec) {
  if (end > known_end_) [[unlikely]]
    follow_program();
  wave.clock += costs_.wave_cycles(first, end);
  if (!wave.recording) [[likely]]
    return;
  const auto lanes = static_cast<uint32_t>(std::popcount(exec));
  for (uint32_t i = first; i < end; ++i) wave.recording->add(costs_.op(i), lanes);
}

void XcdTiming::advance_over_all_but_last(WaveTiming& wave, std::span<const IssuedRun> runs) {
  const size_t begun = reached_ ? reached_ - runs.data() + 1 : 0;
  if (reached_) advance(wave, reached_end_, reached_->end, reached_->exec);
  for (const IssuedRun& run : runs.first(runs.size() - 1).subspan(begun)) advance(wave, run.first, run.end, run.exec);
}

// Usually there is only one run, and often the clock has already reached it.
inline void XcdTiming::advance(WaveTiming& wave, std::span<const IssuedRun> runs) {
  const IssuedRun& last = runs.back();
  if (&last != reached_) {
    if (reached_ || runs.size() > 1) advance_over_all_but_last(wave, runs);
    reached_ = &last;
    reached_end_ = last.first;
  }
  advance(wave, reached_end_, last.end, last.exec);
  reached_end_ = last.end;
}

// Called when the dispatch proves to be large. On an XCD that is not in the sample, the recordings made so far are no longer
// needed.
void XcdTiming::become_large() {
  tracks_touched_lines_ = true;
  memory_.start_tracking_touched_lines();
  if (is_in_sample_) return;
  observes_ = false;
  for (GroupSlotTiming& slot : slots_) {  // of this dispatch or left over from earlier ones
    slot.group.part = nullptr;
    for (WaveTiming& wave : slot.waves) wave.recording = nullptr;
  }
  memory_.stop_modelling_caches();
}

// Counts everything whose result is not needed while the wave runs.
void XcdTiming::issued(Wave& wave, std::span<const IssuedRun> runs) {
  WaveTiming& timing = *wave.timing;
  advance(timing, runs);
  reached_ = nullptr;
  uint64_t count = 0;
  for (const auto& [first, end, exec] : runs) {
    ++executed_[first];
    --executed_[end];
    count += end - first;
    const IssueCosts::Sums costs = costs_.of_run(first, end);
    timing.units.vector_quads += costs.vector_quads;
    timing.units.matrix += costs.matrix_cycles;
    timing.changes_memory |= exec != 0 && costs.memory_changes > 0;
    waves_.valu_thread_quads += uint64_t{costs.vector_quads} * static_cast<unsigned>(std::popcount(exec));
  }
  if (tracks_touched_lines_ || instructions_left_ == TimingOptions::kNever) return;
  if (count > instructions_left_) return become_large();
  instructions_left_ -= count;
}

void XcdTiming::add_executed(std::vector<uint64_t>& to) const {
  uint64_t times = 0;
  for (size_t i = 0; i + 1 < executed_.size(); ++i) {
    times += executed_[i];
    to[i] += times;
  }
}

// Advances the clock to the most recently issued instruction, before the event that this instruction causes.
inline WaveTiming& XcdTiming::catch_up(Wave& wave) {
  advance(*wave.timing, wave.issued->runs());
  return *wave.timing;
}

void XcdTiming::vector_access(Wave& wave, const Op& op, const VectorAccess& access) {
  if (tracks_touched_lines_) memory_.note_lines(access);
  if (!observes_) return memory_.count_access(wave, op, access);
  catch_up(wave);
  memory_.vector_access(wave, op, access);
}

void XcdTiming::scalar_access(Wave& wave, uint64_t address, uint32_t bytes) {
  if (tracks_touched_lines_) memory_.note_scalar_lines(address, bytes);
  if (!observes_) return memory_.count_scalar_access(address, bytes);
  memory_.scalar_access(catch_up(wave), address, bytes);
}

void XcdTiming::wait(Wave& wave, const WaitCounts& limits) {
  if (observes_) memory_.wait(catch_up(wave), limits);
}

uint64_t XcdTiming::clock(Wave& wave) { return catch_up(wave).clock; }

void XcdTiming::barrier_passed(Workgroup& group) {
  uint64_t latest = 0;
  for (const Wave& wave : group.waves) latest = std::max(latest, wave.timing->clock);
  for (Wave& wave : group.waves) {
    if (wave.state == WaveState::AtBarrier) wave.timing->clock = latest;
  }
}

void XcdTiming::retire(CuWork& cu, const WaveTiming& wave, uint64_t executed) {
  ++cu.waves;
  cu.instructions += executed;
  cu.wave_cycles += wave.clock;
  cu.longest_wave = std::max(cu.longest_wave, wave.clock);
  cu.longest_in_instructions = std::max(cu.longest_in_instructions, executed);
  cu.atomics += wave.atomics;
  cu.units.add(wave.units, wave.simd, executed);
}

void XcdTiming::ended(const Wave& wave) {
  const WaveTiming& timing = *wave.timing;
  retire(work_[timing.cu], timing, wave.executed);
  GroupTiming& group = *timing.group;
  group.longest_wave = std::max(group.longest_wave, timing.clock);
  group.max_instructions = std::max(group.max_instructions, wave.executed);
  group.changes_memory |= timing.changes_memory;
  if (group.part) {
    retire(group.part->all_work, timing, wave.executed);
    if (timing.recording)
      group.longest_recorded =
          std::max(group.longest_recorded, retire_recorded(group.part->recorded_work, timing, wave.executed));
  }
  if (--group.running > 0) return;
  CuWork& cu = work_[timing.cu];
  ++cu.groups;
  cu.working_groups += group.changes_memory;
  cu.group_cycles += group.longest_wave;
  cu.groups_in_instructions += group.max_instructions;
  if (!group.part) return;
  group.part->all_work.group_cycles += group.longest_wave;
  group.part->recorded_work.group_cycles += group.longest_recorded;
}

// Adds the recorded part of the wave and returns its cycles. The recording may not have had room for everything that the wave
// did.
uint64_t XcdTiming::retire_recorded(CuWork& recorded, const WaveTiming& wave, uint64_t executed) {
  const uint64_t entries = wave.recording->entries().size();
  const double share = static_cast<double>(entries) / static_cast<double>(entries + wave.recording->lost());
  const auto clock = static_cast<uint64_t>(static_cast<double>(wave.clock) * share);
  ++recorded.waves;
  recorded.instructions += entries;
  recorded.wave_cycles += clock;
  recorded.longest_wave = std::max(recorded.longest_wave, clock);
  recorded.units.add(wave.units, wave.simd, executed, share);
  return clock;
}

}  // namespace rpd
