#include "exec/busy_wait_detector.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>

namespace rpd {
namespace {

template <class Vector>
uint64_t digest_of(const Vector& values) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
}

}  // namespace

template <class F>
void BusyWaitDetector::for_each_group(F f) const {
  for (const auto& xcd : xcds_)
    for (const auto& group : xcd->resident()) f(*group);
}

void BusyWaitDetector::take_positions() {
  positions_.clear();
  for_each_group([&](const Workgroup& group) {
    for (const Wave& wave : group.waves) {
      Position position{&wave, wave.pc, group.id, group.epoch, wave.mode, wave.scc, wave.state, {}};
      std::copy(std::begin(wave.scalar), std::end(wave.scalar), position.scalar);
      positions_.push_back(position);
    }
  });
}

// Stops comparing at the first wave that has moved.
bool BusyWaitDetector::same_positions() const {
  size_t waves = 0;
  for (const auto& xcd : xcds_)
    for (const auto& group : xcd->resident()) waves += group->waves.size();
  if (waves != positions_.size()) return false;
  return std::all_of(positions_.begin(), positions_.end(), [](const Position& before) {
    const Wave& now = *before.wave;
    return now.pc == before.pc && now.state == before.state && now.scc == before.scc && now.mode == before.mode &&
           now.group->id == before.group && now.group->epoch == before.epoch &&
           std::memcmp(now.scalar, before.scalar, sizeof now.scalar) == 0;
  });
}

std::vector<uint64_t> BusyWaitDetector::digest() const {
  std::vector<uint64_t> digests;
  for_each_group([&](const Workgroup& group) {
    digests.insert(digests.end(), {digest_of(group.registers), digest_of(group.lds), digest_of(group.scratch)});
  });
  return digests;
}

void BusyWaitDetector::set_watch(AccessWatch* watch) {
  for (const auto& xcd : xcds_) xcd->watch(watch);
}

bool BusyWaitDetector::enter(Phase phase) {
  phase_ = phase;
  rounds_ = 0;
  return false;
}

bool BusyWaitDetector::give_up() {
  if (phase_ != Phase::LookForRepeat) set_watch(nullptr);
  rest_ = std::min(2 * rest_, kMaxRest);
  return enter(Phase::Rest);
}

void BusyWaitDetector::resume() {
  rest_ = kRestAfterWaiting;
  enter(Phase::Rest);
}

bool BusyWaitDetector::after_round() {
  ++rounds_;
  switch (phase_) {
    case Phase::Rest: return rest();
    case Phase::LookForRepeat: return look_for_repeat();
    case Phase::FirstPeriod: return first_period();
    default: return second_period();
  }
}

bool BusyWaitDetector::rest() {
  if (rounds_ < rest_) return false;
  take_positions();
  return enter(Phase::LookForRepeat);
}

bool BusyWaitDetector::look_for_repeat() {
  if (!same_positions()) return rounds_ == kMaxPeriod && give_up();
  period_ = rounds_;
  digest_ = digest();
  watch_.clear();
  set_watch(&watch_);
  return enter(Phase::FirstPeriod);
}

// Finds out which memory the waves access.
bool BusyWaitDetector::first_period() {
  if (rounds_ < period_) return false;
  if (watch_.overflows() || !same_positions() || digest() != digest_) return give_up();
  auto contents = watch_.contents(memory_);
  if (!contents) return give_up();
  contents_ = std::move(*contents);
  accessed_ = watch_.count();
  return enter(Phase::SecondPeriod);
}

// Checks that the memory accessed in the first period stays unchanged, and that nothing else is accessed.
bool BusyWaitDetector::second_period() {
  if (rounds_ < period_) return false;
  if (watch_.count() != accessed_ || !same_positions() || digest() != digest_ || is_over()) return give_up();
  set_watch(nullptr);
  return true;
}

std::string BusyWaitDetector::describe(const DispatchedKernel& kernel) const {
  std::map<const Op*, uint64_t> waves;
  for (const Position& position : positions_)
    if (position.state != WaveState::Ended) ++waves[position.pc];
  std::string text;
  constexpr size_t kMaxGroups = 3;
  char line[256];
  for (auto group = waves.begin(); group != waves.end() && std::distance(waves.begin(), group) < static_cast<int>(kMaxGroups);
       ++group) {
    const auto& [op, count] = *group;
    std::snprintf(line, sizeof line, "%s%" PRIu64 " wave%s at pc 0x%" PRIx64 " (entry %c 0x%" PRIx64 "): %s",
                  text.empty() ? "" : ", ", count, count == 1 ? "" : "s", op->address, op->address < kernel.entry ? '-' : '+',
                  op->address < kernel.entry ? kernel.entry - op->address : op->address - kernel.entry, op->text);
    text += line;
  }
  if (waves.size() > kMaxGroups) text += ", others elsewhere";
  if (watch_.accessed().empty()) return text;
  std::snprintf(line, sizeof line, "; the memory that they poll begins at 0x%" PRIx64 ", %zu place%s",
                watch_.accessed().begin()->first, accessed_, accessed_ == 1 ? "" : "s");
  return text + line;
}

}  // namespace rpd
