#include "runtime/deadlock_detector.h"

#include "runtime/device.h"
#include "runtime/hooks/handlers_at_exit.h"
#include "runtime/hooks/host_threads.h"

namespace rpd {

using namespace std::chrono_literals;

DeadlockDetector::State DeadlockDetector::current_state() const {
  const bool stuck = scheduler_.any_parked() && !scheduler_.any_active() && !any_device_can_make_progress() &&
                     host_threads::is_any_waiting() && !handlers_at_exit::is_any_running();
  return {stuck, scheduler_.changes(), stuck ? host_threads::busy_ticks() : 0};
}

bool DeadlockDetector::detect() {
  constexpr auto kInterval = 200ms;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (patience_ == 0s || now - looked_ < kInterval) return false;
  const auto pause = now - looked_;
  looked_ = now;
  const State before = state_;
  state_ = current_state();
  // A long pause since the last check means that the process was stopped, or that there was no reason to check.
  if (!state_.stuck || state_ != before || pause > 10 * kInterval) since_ = now;
  return now - since_ >= patience_;
}

}  // namespace rpd
