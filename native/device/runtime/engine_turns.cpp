#include "runtime/engine_turns.h"

#include <algorithm>

#include "runtime/queues/event_count.h"

namespace rpd {
namespace {

// After kLongInstructions another dispatch may begin, and from then on they take turns. This is long enough for most
// dispatches that only compute to end, and short enough for those that wait for another one in ways that cannot be detected.
constexpr uint64_t kLongInstructions = 20'000'000;
constexpr uint64_t kSliceInstructions = 20'000;

}  // namespace

void Turns::set_running(Seat* seat) {
  running_ = seat;
  ++changes_;
  if (seat) seat->state = Seat::State::Running;
  signal_changes().announce();
}

void Turns::admit_parked() {
  for (auto parked = parked_.begin(); parked != parked_.end();) {
    if (!(*parked)->can_go_on()) {
      ++parked;
      continue;
    }
    (*parked)->state = Seat::State::Queued;
    line_.push_back(*parked);
    parked = parked_.erase(parked);
  }
}

void Turns::give_on() {
  if (running_) return;
  admit_parked();
  if (line_.empty()) return;
  Seat* next = line_.front();
  if (!next->begun && !may_begin_(*next)) return;
  line_.pop_front();
  next->begun = true;
  set_running(next);
}

void Turns::queue(Seat& seat, uint64_t submitted) {
  const std::lock_guard lock(mutex_);
  seat.state = Seat::State::Queued;
  seat.begun = false;
  seat.submitted = submitted;
  seat.queued = std::chrono::steady_clock::now();
  line_.insert(std::find_if(line_.begin(), line_.end(),
                            [&](const Seat* other) { return !other->begun && other->submitted > submitted; }),
               &seat);
  give_on();
}

void Turns::leave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  line_.remove(&seat);
  parked_.remove(&seat);
  seat.state = Seat::State::Absent;
  if (running_ == &seat) set_running(nullptr);
  give_on();
}

void Turns::pass(Seat& seat) {
  const std::lock_guard lock(mutex_);
  admit_parked();
  seat.state = Seat::State::Queued;
  line_.push_back(&seat);
  set_running(nullptr);
  give_on();
}

void Turns::park(Seat& seat, std::function<bool()> can_go_on) {
  const std::lock_guard lock(mutex_);
  seat.state = Seat::State::Parked;
  seat.can_go_on = std::move(can_go_on);
  parked_.push_back(&seat);
  set_running(nullptr);
  give_on();
}

bool Turns::has_engine(Seat& seat) {
  const std::lock_guard lock(mutex_);
  give_on();
  return seat.state == Seat::State::Running;
}

bool Turns::should_pass(uint64_t instructions) {
  const std::lock_guard lock(mutex_);
  if (std::any_of(parked_.begin(), parked_.end(), [](const Seat* seat) { return seat->can_go_on(); })) return true;
  const bool begun = std::any_of(line_.begin(), line_.end(), [](const Seat* seat) { return seat->begun; });
  return !line_.empty() && instructions >= (begun ? kSliceInstructions : kLongInstructions);
}

bool Turns::any_active() const {
  const std::lock_guard lock(mutex_);
  return running_ || !line_.empty();
}

bool Turns::any_parked() const {
  const std::lock_guard lock(mutex_);
  return !parked_.empty();
}

uint64_t Turns::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

}  // namespace rpd
