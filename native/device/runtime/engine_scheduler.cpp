#include "runtime/engine_scheduler.h"

#include <algorithm>

#include "runtime/queues/event_count.h"

namespace rpd {
namespace {

// Once a dispatch has executed kLongInstructions, another one may begin, and from then on they take turns. Most dispatches that
// only compute finish within that limit, yet the limit is low enough for dispatches that wait for others in ways that cannot be
// detected.
constexpr uint64_t kLongInstructions = 20'000'000;
constexpr uint64_t kTurnInstructions = 20'000;

}  // namespace

void EngineScheduler::set_running(Entry* entry) {
  running_ = entry;
  ++changes_;
  if (entry) entry->state = Entry::State::Running;
  signal_changes().announce();
}

void EngineScheduler::admit_parked() {
  for (auto parked = parked_.begin(); parked != parked_.end();) {
    if (!(*parked)->can_resume()) {
      ++parked;
      continue;
    }
    (*parked)->state = Entry::State::Queued;
    line_.push_back(*parked);
    parked = parked_.erase(parked);
  }
}

void EngineScheduler::hand_over() {
  if (running_) return;
  admit_parked();
  if (line_.empty()) return;
  Entry* next = line_.front();
  if (!next->begun && !may_begin_(*next)) return;
  line_.pop_front();
  next->begun = true;
  set_running(next);
}

void EngineScheduler::queue(Entry& entry, uint64_t submitted) {
  const std::lock_guard lock(mutex_);
  entry.state = Entry::State::Queued;
  entry.begun = false;
  entry.submitted = submitted;
  entry.queued = std::chrono::steady_clock::now();
  line_.insert(std::find_if(line_.begin(), line_.end(),
                            [&](const Entry* other) { return !other->begun && other->submitted > submitted; }),
               &entry);
  hand_over();
}

void EngineScheduler::leave(Entry& entry) {
  const std::lock_guard lock(mutex_);
  line_.remove(&entry);
  parked_.remove(&entry);
  entry.state = Entry::State::Absent;
  if (running_ == &entry) set_running(nullptr);
  hand_over();
}

void EngineScheduler::pass(Entry& entry) {
  const std::lock_guard lock(mutex_);
  admit_parked();
  entry.state = Entry::State::Queued;
  line_.push_back(&entry);
  set_running(nullptr);
  hand_over();
}

void EngineScheduler::park(Entry& entry, std::function<bool()> can_resume) {
  const std::lock_guard lock(mutex_);
  entry.state = Entry::State::Parked;
  entry.can_resume = std::move(can_resume);
  parked_.push_back(&entry);
  set_running(nullptr);
  hand_over();
}

bool EngineScheduler::has_engine(Entry& entry) {
  const std::lock_guard lock(mutex_);
  hand_over();
  return entry.state == Entry::State::Running;
}

bool EngineScheduler::should_pass(uint64_t instructions) {
  const std::lock_guard lock(mutex_);
  if (std::any_of(parked_.begin(), parked_.end(), [](const Entry* entry) { return entry->can_resume(); })) return true;
  const bool begun = std::any_of(line_.begin(), line_.end(), [](const Entry* entry) { return entry->begun; });
  return !line_.empty() && instructions >= (begun ? kTurnInstructions : kLongInstructions);
}

bool EngineScheduler::any_active() const {
  const std::lock_guard lock(mutex_);
  return running_ || !line_.empty();
}

bool EngineScheduler::any_parked() const {
  const std::lock_guard lock(mutex_);
  return !parked_.empty();
}

uint64_t EngineScheduler::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

}  // namespace rpd
