#include "tracer/host_waits.h"

#include <array>
#include <atomic>

#include "tracer/collector.h"
#include "tracer/host_context.h"
#include "tracer/recorder.h"
#include "tracer/wrappers.h"

namespace rpd::tracer {
namespace {

// For each signal (found by its hash), the serial number of the last submission that completes it. Signals that share a slot
// occasionally cause a superfluous record, but no record is ever missing.
constexpr size_t kSlots = 4096;
std::array<std::atomic<uint64_t>, kSlots> last_submission;
std::atomic<uint64_t> submissions{0};

size_t slot_of(hsa_signal_t signal) { return (signal.handle >> 6) * 0x9E3779B97F4A7C15u >> 52; }
static_assert(kSlots == size_t{1} << (64 - 52));

struct ObservedCompletion {
  uint64_t signal, submission;
};

// Threads query the same signal repeatedly; a query provides new information only the first time that it finds the signal
// complete after a submission.
bool is_first_observation(hsa_signal_t signal, uint64_t submission) {
  static thread_local std::array<ObservedCompletion, 64> observed{};
  ObservedCompletion& last = observed[slot_of(signal) % observed.size()];
  if (last.signal == signal.handle && last.submission == submission) return false;
  last = {signal.handle, submission};
  return true;
}

void record_observed_completion(hsa_signal_t signal) {
  if (!recording.load(std::memory_order_relaxed)) return;
  const uint64_t submission = last_submission[slot_of(signal)].load(std::memory_order_acquire);
  if (submission == 0 || !is_first_observation(signal, submission)) return;
  the_collector().collect();
  spool::Observed observed{};
  observed.signal = signal.handle;
  observed.thread = host_context().thread;
  record(spool::Kind::observed, observed);
}

hsa_signal_value_t observe(hsa_signal_t signal, hsa_signal_value_t value) {
  if (value <= 0) record_observed_completion(signal);
  return value;
}

hsa_signal_value_t load_relaxed(hsa_signal_t signal) { return observe(signal, hsa.core.hsa_signal_load_relaxed_fn(signal)); }

hsa_signal_value_t load_scacquire(hsa_signal_t signal) {
  return observe(signal, hsa.core.hsa_signal_load_scacquire_fn(signal));
}

hsa_signal_value_t wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value, uint64_t limit,
                                hsa_wait_state_t state) {
  return observe(signal, hsa.core.hsa_signal_wait_relaxed_fn(signal, condition, value, limit, state));
}

hsa_signal_value_t wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value,
                                  uint64_t limit, hsa_wait_state_t state) {
  return observe(signal, hsa.core.hsa_signal_wait_scacquire_fn(signal, condition, value, limit, state));
}

uint32_t wait_any(uint32_t count, hsa_signal_t* signals, hsa_signal_condition_t* conditions, hsa_signal_value_t* values,
                  uint64_t limit, hsa_wait_state_t state, hsa_signal_value_t* satisfying) {
  hsa_signal_value_t value = 1;
  const uint32_t which = hsa.amd.hsa_amd_signal_wait_any_fn(count, signals, conditions, values, limit, state, &value);
  if (which < count) observe(signals[which], value);
  if (satisfying != nullptr) *satisfying = value;
  return which;
}

uint32_t wait_all(uint32_t count, hsa_signal_t* signals, hsa_signal_condition_t* conditions, hsa_signal_value_t* values,
                  uint64_t limit, hsa_wait_state_t state, hsa_signal_value_t* satisfying) {
  const uint32_t which = hsa.amd.hsa_amd_signal_wait_all_fn(count, signals, conditions, values, limit, state, satisfying);
  if (which != UINT32_MAX) {
    for (uint32_t i = 0; i < count; ++i)
      if (signals[i].handle != 0 && completed(signals[i])) record_observed_completion(signals[i]);
  }
  return which;
}

// ROCr's own thread calls these handlers, so that thread has seen the signal complete as well.
struct AsyncHandler {
  hsa_signal_t signal;
  hsa_amd_signal_handler handler;
  void* data;
};

bool on_signal(hsa_signal_value_t value, void* data) {
  auto* program_handler = static_cast<AsyncHandler*>(data);
  observe(program_handler->signal, value);
  const bool again = program_handler->handler(value, program_handler->data);
  if (!again) delete program_handler;
  return again;
}

hsa_status_t async_handler(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value,
                           hsa_amd_signal_handler handler, void* data) {
  if (!recording.load() || signal.handle == 0 || handler == nullptr)
    return hsa.amd.hsa_amd_signal_async_handler_fn(signal, condition, value, handler, data);
  auto* wrapper = new AsyncHandler{signal, handler, data};
  const hsa_status_t status = hsa.amd.hsa_amd_signal_async_handler_fn(signal, condition, value, on_signal, wrapper);
  if (status != HSA_STATUS_SUCCESS) delete wrapper;
  return status;
}

// The destruction is recorded because the address may be reused for a new signal, which has nothing to do with the old one's
// work.
hsa_status_t destroy(hsa_signal_t signal) {
  if (signal.handle != 0 && last_submission[slot_of(signal)].load(std::memory_order_relaxed) != 0) {
    spool::SignalDestroyed destroyed{};
    destroyed.signal = signal.handle;
    record(spool::Kind::signal_destroyed, destroyed);
  }
  return hsa.core.hsa_signal_destroy_fn(signal);
}

}  // namespace

void note_completing_submission(hsa_signal_t signal) {
  if (signal.handle != 0) last_submission[slot_of(signal)].store(++submissions, std::memory_order_release);
}

void wrap_host_waits(HsaApiTable* table) {
  table->core_->hsa_signal_load_relaxed_fn = load_relaxed;
  table->core_->hsa_signal_load_scacquire_fn = load_scacquire;
  table->core_->hsa_signal_wait_relaxed_fn = wait_relaxed;
  table->core_->hsa_signal_wait_scacquire_fn = wait_scacquire;
  table->core_->hsa_signal_destroy_fn = destroy;
  table->amd_ext_->hsa_amd_signal_wait_any_fn = wait_any;
  table->amd_ext_->hsa_amd_signal_wait_all_fn = wait_all;
  table->amd_ext_->hsa_amd_signal_async_handler_fn = async_handler;
}

}  // namespace rpd::tracer
