// Runs a device's dispatches, each on its queue's thread; they take turns using the engines.
#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "runtime/device.h"
#include "runtime/queues/aql_queue.h"
#include "runtime/queues/event_count.h"
#include "runtime/reports/check_findings.h"
#include "runtime/reports/kernel_names.h"
#include "runtime/reports/log.h"
#include "runtime/reports/memory_fault.h"
#include "runtime/reports/progress_page.h"
#include "runtime/reports/thread_trace.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Unannounced changes to memory are found by polling, at first without pauses, since many happen within microseconds.
void pause(Clock::duration waited, uint32_t seen) {
  if (waited < 1ms) return std::this_thread::yield();
  signal_changes().wait(seen, waited < 100ms ? 50us : 1ms);
}

DispatchResult failure(std::string why) {
  DispatchResult result;
  result.error = std::move(why);
  result.error_kind = DispatchError::Exception;
  return result;
}

// The message is composed once, for all the kernels involved, and then reported to each kernel's queue.
DispatchResult deadlocked() {
  std::string& story = dispatches_in_flight().deadlock_story;
  if (story.empty()) {
    for (const DispatchInFlight& flight : dispatches_in_flight().list) {
      char queue[40];
      std::snprintf(queue, sizeof queue, " on queue 0x%lx, ", flight.queue.ring_address());
      story +=
          (story.empty() ? "" : "; ") + kernel_name(flight.kernel_object) + queue + flight.device.describe_positions(flight);
    }
  }
  return failure(
      "a deadlock: every running kernel waits for memory to change, no queue has other work, and the program waits for the "
      "device: " +
      story);
}

}  // namespace

void Device::invalidate_stale_caches() {
  std::vector<std::pair<uint64_t, uint64_t>> code, data;
  bool l2;
  {
    std::lock_guard lock(stale_mutex_);
    code.swap(stale_code_);
    data.swap(copied_to_);
    l2 = std::exchange(stale_l2_, false);
  }
  for (const auto& [begin, size] : code) engine_->invalidate_code(begin, size);
  for (const auto& [begin, size] : data) engine_->written_elsewhere(begin, size);
  if (l2) engine_->invalidate_xcd_caches();
}

// Blocks until it is this queue's turn; returns false if the queue is stopped first.
bool Device::await_engine(AqlQueue& queue) {
  const auto since = Clock::now();
  for (;;) {
    const uint32_t seen = signal_changes().current();
    if (dispatches_in_flight().scheduler.has_engine(queue.entry())) return true;
    if (queue.stopping()) return false;
    if (queue.entry().state == EngineScheduler::Entry::State::Parked && dispatches_in_flight().deadlock_detector.detect())
      dispatches_in_flight().deadlocked = true;
    pause(Clock::now() - since, seen);
  }
}

DispatchResult Device::run(const DispatchRequest& request, uint64_t start, AqlQueue& queue, uint64_t submitted) {
  const FaultReportScope fault_reports;
  dispatches_in_flight().scheduler.queue(queue.entry(), submitted);
  DispatchResult result;
  try {
    if (await_engine(queue)) result = execute(request, start, queue);
  } catch (const std::exception& problem) {
    result = failure(*problem.what() ? problem.what() : "the execution engine failed");
  }
  // A queue that is being stopped does not get the engine back, and only the queue that has the engine may remove its dispatch
  // from those in flight.
  if (queue.entry().state == EngineScheduler::Entry::State::Running) {
    DispatchesInFlight& all = dispatches_in_flight();
    all.list.remove_if([&](const DispatchInFlight& flight) { return &flight.queue == &queue; });
    if (all.list.empty()) all.deadlocked = false, all.deadlock_story.clear();
  }
  dispatches_in_flight().scheduler.leave(queue.entry());
  return result;
}

DispatchResult Device::execute(const DispatchRequest& request, uint64_t start, AqlQueue& queue) {
  invalidate_stale_caches();
  DispatchRequest traced = request;
  traced.traced_cu = count_dispatch_and_choose_cu(request);
  traced.line_of = line_of_code;
  DispatchResult refused;
  auto execution = engine_->begin(traced, refused);
  if (!execution) return refused;
  DispatchInFlight& flight = dispatches_in_flight().list.emplace_back(*this, queue, request.kernel_object, start,
                                                                      std::move(execution), ++dispatches_in_flight().begun);
  const auto should_interrupt = [&](uint64_t instructions) {
    show_progress(flight);
    return queue.stopping() || dispatches_in_flight().scheduler.should_pass(instructions);
  };
  show_progress(flight);
  Progress progress;
  while ((progress = engine_->advance(*flight.execution, should_interrupt)) != Progress::Ended) {
    bool goes_on;
    if (progress == Progress::Waits) {
      goes_on = wait(flight);
    } else {
      dispatches_in_flight().scheduler.pass(queue.entry());
      goes_on = await_engine(queue);
    }
    if (!goes_on || queue.stopping()) return {};
    if (progress == Progress::Waits && dispatches_in_flight().deadlocked) return deadlocked();
  }
  return finish(request, flight);
}

void Device::show_progress(const DispatchInFlight& flight) {
  if (!progress::page()) return;
  const DispatchExecution& execution = *flight.execution;
  const progress::Work work{engine_->workgroups_done(execution), engine_->workgroups(execution),
                            engine_->instructions(execution)};
  progress::show(flight.number, flight.kernel_object, work);
}

bool Device::wait(DispatchInFlight& flight) {
  log_line("%s waits: %s", kernel_name(flight.kernel_object).c_str(), engine_->describe_positions(*flight.execution).c_str());
  const uint64_t ended_before = dispatches_in_flight().ended;
  const std::shared_ptr<DispatchExecution> execution = flight.execution;
  dispatches_in_flight().scheduler.park(
      flight.queue.entry(), [this, execution] { return dispatches_in_flight().deadlocked || engine_->can_resume(*execution); });
  if (!await_engine(flight.queue)) return false;
  note_wait_end(flight, ended_before);
  engine_->resume(*flight.execution);
  return true;
}

// Records when, in virtual time, this dispatch was released from its wait for another one: when the last dispatch ended or, if
// none has ended in the meantime, when the most recent dispatch that is not itself waiting started. The rest of this dispatch's
// work comes after that time.
void Device::note_wait_end(DispatchInFlight& flight, uint64_t ended_before) {
  uint64_t released = 0;
  if (dispatches_in_flight().ended != ended_before) {
    released = dispatches_in_flight().latest_end;
  } else {
    for (const DispatchInFlight& other : dispatches_in_flight().list)
      if (&other != &flight && other.queue.entry().state != EngineScheduler::Entry::State::Parked)
        released = std::max(released, other.start);
  }
  if (released > flight.start) flight.min_duration = released - flight.start;
  flight.instructions_before_release = engine_->instructions(*flight.execution);
}

DispatchResult Device::finish(const DispatchRequest& request, DispatchInFlight& flight) {
  progress::end();
  DispatchResult result = engine_->end(*flight.execution);
  if (result.timeline) write_thread_trace(request, result, memory_, node());
  if (result.fixed_order)
    log_line("%s: the XCDs take turns, for %s", kernel_name(request.kernel_object).c_str(), result.fixed_order);
  report_written_ranges(result.written);
  for (const std::string& race : result.races) report_race(kernel_name(request.kernel_object) + ": " + race);
  result.duration_ns = duration(flight, result);
  ++dispatches_in_flight().ended;
  dispatches_in_flight().latest_end = flight.start + result.duration_ns;
  return result;
}

// How long the dispatch takes when others run at the same time. While it waits for another dispatch, it does not compete for
// resources.
uint64_t Device::duration(const DispatchInFlight& flight, const DispatchResult& result) {
  if (!result.error.empty()) return result.duration_alone_ns;
  if (flight.min_duration == 0) return concurrent_.add(flight.start, result.duration_alone_ns, result.use);
  const double all = static_cast<double>(engine_->instructions(*flight.execution));
  const double remaining_share = 1 - static_cast<double>(flight.instructions_before_release) / all;
  const uint64_t remaining_ns = static_cast<uint64_t>(remaining_share * static_cast<double>(result.duration_alone_ns));
  return std::max(result.duration_alone_ns,
                  flight.min_duration + concurrent_.add(flight.start + flight.min_duration, remaining_ns, result.use));
}

std::string Device::describe_positions(const DispatchInFlight& flight) const {
  return engine_->describe_positions(*flight.execution);
}

}  // namespace rpd
