#include "tracer/collector.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tracer/recorder.h"
#include "tracer/software_device.h"

namespace rpd::tracer {
namespace {

// How far beyond the oldest unfinished dispatch to look for finished ones: packets without the barrier bit may overtake others,
// but polling thousands of them every time would cost more than it gains.
constexpr size_t kWindow = 64;
constexpr auto kPollInterval = std::chrono::milliseconds(1);

bool has_ended(const OperationInFlight& operation) {
  return operation.kind == OperationKind::dispatch ? dispatch_ended(operation.signal) : completed(operation.signal);
}

// Moves completed operations from `from` to `into`, keeping their order; stops once it has come across `window` unfinished
// ones.
void move_completed(std::vector<OperationInFlight>& from, std::vector<OperationInFlight>& into, size_t window) {
  size_t read = 0, kept_count = 0;
  for (; read < from.size() && kept_count < window; ++read) {
    if (has_ended(from[read])) into.push_back(from[read]);
    else from[kept_count++] = from[read];
  }
  from.erase(from.begin() + static_cast<ptrdiff_t>(kept_count), from.begin() + static_cast<ptrdiff_t>(read));
}

}  // namespace

Collector& the_collector() {
  static Collector& collector = *new Collector;  // never destroyed, see the_spool()
  return collector;
}

void InFlightList::push(const OperationInFlight& operation) {
  std::lock_guard lock(mutex_);
  (operation.program_signal.handle != 0 ? awaited_ : unawaited_).push_back(operation);
}

void InFlightList::take_completed(std::vector<OperationInFlight>& into) {
  std::lock_guard lock(mutex_);
  const size_t before = into.size();
  // Operations that nobody waits for come first: a thread that sees a forwarded signal complete may rely on everything before
  // it.
  move_completed(unawaited_, into, kWindow);
  move_completed(awaited_, into, awaited_.size());
  uint64_t last = last_completed_.load(std::memory_order_relaxed);
  for (size_t i = before; i < into.size(); ++i) last = std::max(last, into[i].packet);
  last_completed_.store(last, std::memory_order_relaxed);
}

bool InFlightList::waits_for(hsa_signal_t signal) {
  std::lock_guard lock(mutex_);
  return std::any_of(awaited_.begin(), awaited_.end(),
                     [&](const OperationInFlight& dispatch) { return dispatch.signal.handle == signal.handle; });
}

bool InFlightList::empty() {
  std::lock_guard lock(mutex_);
  return unawaited_.empty() && awaited_.empty();
}

InFlightList& Collector::add_list() {
  std::lock_guard lock(lists_mutex_);
  return *lists_.emplace_back(std::make_unique<InFlightList>());
}

hsa_signal_t Collector::stand_in_for(hsa_signal_t program_signal) { return pool_for(program_signal).take(); }

void Collector::submitted(InFlightList& list, const OperationInFlight& operation) {
  list.push(operation);
  if (operation.program_signal.handle != 0)
    hsa.amd.hsa_amd_signal_async_handler_fn(operation.signal, HSA_SIGNAL_CONDITION_LT, 1, on_completion,
                                            reinterpret_cast<void*>(operation.signal.handle));
  else if (asleep_.exchange(false)) wake_.release();
}

// No matter which thread collected the operation, its signal can be reused only now: ROCr was watching it until this call.
bool Collector::on_completion(hsa_signal_value_t, void* data) {
  const hsa_signal_t signal{reinterpret_cast<uint64_t>(data)};
  the_collector().collect();
  if (the_collector().waits_for(signal)) return true;  // the value changed, but the operation has not ended: check again
  the_collector().awaited_signals_.give_back(signal);
  return false;
}

bool Collector::waits_for(hsa_signal_t signal) {
  std::lock_guard lock(lists_mutex_);
  return std::any_of(lists_.begin(), lists_.end(), [&](auto& list) { return list->waits_for(signal); });
}

void Collector::start() {
  thread_ = std::thread([this] { run(); });
}

void Collector::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  wake_.release();
  thread_.join();
}

void Collector::give_up_signals() {
  unawaited_signals_.destroy_all();
  awaited_signals_.destroy_all();
}

void Collector::run() {
  while (!stopping_.load()) {
    // First announces that it is asleep, then checks for work: any submission that no handler watches is either seen by the
    // check or ends the sleep; the others are collected by on_completion().
    asleep_.store(true);
    if (idle()) wake_.acquire();
    else static_cast<void>(wake_.try_acquire_for(kPollInterval));
    asleep_.store(false);
    collect();
  }
}

bool Collector::idle() {
  std::lock_guard lock(lists_mutex_);
  return std::all_of(lists_.begin(), lists_.end(), [](auto& list) { return list->empty(); });
}

void Collector::collect() {
  std::lock_guard lock(collect_mutex_);
  {
    std::lock_guard lists_lock(lists_mutex_);
    for (auto& list : lists_) list->take_completed(batch_);
  }
  for (const OperationInFlight& operation : batch_) finish(operation);
  batch_.clear();
}

void Collector::drain(uint64_t limit_ns) {
  const uint64_t limit = now_ns() + limit_ns;
  for (;;) {
    collect();
    if (idle() || now_ns() > limit) return;
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
}

void Collector::finish(const OperationInFlight& operation) {
  uint64_t start = 0, end = 0;
  if (operation.kind == OperationKind::dispatch) {
    hsa_amd_profiling_dispatch_time_t times{};
    rpd_dispatch dispatch_record{};
    // The record is taken even if its counters are not kept, because otherwise the device would store it for long.
    const bool has_record = take_dispatch(operation.signal, dispatch_record, counters_, errors_);
    if (!has_record) hsa.amd.hsa_amd_profiling_get_dispatch_time_fn(operation.agent, operation.signal, &times);
    start = has_record ? dispatch_record.start_ns : times.start, end = has_record ? dispatch_record.end_ns : times.end;
    if (has_record && operation.keeps_counters) {
      spool::Counters counters{};
      counters.dispatch_id = operation.id;
      counters.count = counters_.size();
      record(spool::Kind::counters, counters, {}, std::as_bytes(std::span(counters_)));
    }
    const auto is_estimate = [](double error) { return !std::isnan(error); };
    if (has_record && std::ranges::any_of(errors_, is_estimate)) {
      spool::Errors errors{};
      errors.dispatch_id = operation.id;
      errors.count = operation.keeps_counters ? errors_.size() : 0;
      errors.duration = dispatch_record.duration_error;
      record(spool::Kind::errors, errors, {}, std::as_bytes(std::span(errors_).first(errors.count)));
    }
  } else {
    hsa_amd_profiling_async_copy_time_t times{};
    hsa.amd.hsa_amd_profiling_get_async_copy_time_fn(operation.signal, &times);
    start = times.start, end = times.end;
  }
  spool::End record_of_end{};
  record_of_end.id = operation.id;
  record_of_end.start_ns = start;
  record_of_end.end_ns = end;
  record(operation.kind == OperationKind::dispatch ? spool::Kind::dispatch_end : spool::Kind::copy_end, record_of_end);

  if (operation.program_signal.handle != 0) forward(operation, start, end);
  else unawaited_signals_.give_back(operation.signal);
}

// The application's signal gets the raw device times before its value changes, as it would from the device, because
// hipEventElapsedTime reads them.
void Collector::forward(const OperationInFlight& operation, uint64_t start, uint64_t end) {
  const amd_signal_t* const own_signal = memory_of(operation.signal);
  amd_signal_t* const program_signal = memory_of(operation.program_signal);
  program_signal->start_ts = own_signal->start_ts;
  program_signal->end_ts = own_signal->end_ts;
  if (operation.kind == OperationKind::copy) {
    std::lock_guard lock(copies_mutex_);
    forwarded_copies_[operation.program_signal.handle] = {start, end};
  }
  // An operation that failed leaves a negative value for the host to see.
  const hsa_signal_value_t value = __atomic_load_n(&own_signal->value, __ATOMIC_ACQUIRE);
  hsa.core.hsa_signal_subtract_screlease_fn(operation.program_signal, 1 - value);
}

bool Collector::copy_times(hsa_signal_t program_signal, hsa_amd_profiling_async_copy_time_t& times) {
  std::lock_guard lock(copies_mutex_);
  const auto entry = forwarded_copies_.find(program_signal.handle);
  if (entry == forwarded_copies_.end()) return false;
  times = entry->second;
  return true;
}

}  // namespace rpd::tracer
