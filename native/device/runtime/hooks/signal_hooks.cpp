// Host threads and signals: which thread waits for what, and until when in virtual time.
//
// A host thread must see a signal as it is at the thread's own virtual time. Otherwise the program's decisions, and with them
// the modelled times, would depend on how fast this machine happens to be. Therefore:
//  - a wait advances the thread's clock to the end of what it waited for;
//  - a wait with a timeout interprets the timeout as virtual time: it succeeds if the signal completes within that time;
//  - a load sees the value 0 of a finished packet only once the thread's clock has reached the packet's end; to learn when that
//    end is, the load waits (in real time) for the packet while the device makes progress. HIP loads signals so that it can
//    skip dependencies that are already complete; which of them are complete in real time is random;
//  - a thread that loads the same signal over and over, and does nothing else, is polling, which counts as waiting.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/device.h"
#include "runtime/hooks/handlers_at_exit.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/host_threads.h"
#include "runtime/hooks/memory_declarations.h"
#include "runtime/queues/event_count.h"
#include "runtime/queues/signals.h"
#include "runtime/virtual_clock.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

amd_signal_t& of(hsa_signal_t signal) { return *reinterpret_cast<amd_signal_t*>(signal.handle); }

// ---- polling ----

// This many consecutive loads of one signal count as a polling loop: HIP itself loads a signal at most a few times in a row.
constexpr int kPollingLoads = 32;
thread_local uint64_t loaded_signal = 0;
thread_local int loads_in_a_row = 0;

void end_polling() { loads_in_a_row = 0; }

bool is_polling(hsa_signal_t signal) {
  if (loaded_signal != signal.handle) loads_in_a_row = 0;
  loaded_signal = signal.handle;
  return ++loads_in_a_row >= kPollingLoads;
}

// ---- loads ----

// Blocks until done() returns true. Spins briefly first, since short work is often done by then.
template <class Done>
void block_until(Done done) {
  const auto spin_end = Clock::now() + 20us;
  for (;;) {
    const uint32_t seen = signal_changes().current();
    if (done()) return;
    if (Clock::now() < spin_end) std::this_thread::yield();
    else signal_changes().wait(seen, 1ms);
  }
}

// Detects when waiting for the device has become pointless: no queue has worked on anything for longer than it takes to notice
// a new packet. Pending signals then stay pending until the host does something.
class PointlessWaitDetector {
 public:
  bool is_pointless() {
    const auto now = Clock::now();
    if (any_device_can_make_progress()) last_work_ = now;
    return now - last_work_ > kSettled;
  }

 private:
  static constexpr auto kSettled = 20ms;
  Clock::time_point last_work_ = Clock::now();
};

// Blocks until the signal is 0 or less, or until it is clear that the device alone will not complete it.
void await_outcome(hsa_signal_t signal) {
  thread_local uint64_t hopeless_signal = 0;  // the signal of the last load, if that load gave up
  if (loads_in_a_row > 1 && hopeless_signal == signal.handle) return;
  hopeless_signal = 0;
  PointlessWaitDetector detector;
  block_until([&] {
    if (load_value(of(signal)) <= 0) return true;
    if (detector.is_pointless()) hopeless_signal = signal.handle;
    return hopeless_signal != 0;
  });
}

hsa_signal_value_t visible_value(hsa_signal_t signal, hsa_signal_value_t value) {
  const bool polling = is_polling(signal);
  if (value > 0 && !virtual_clock::in_callback()) {
    await_outcome(signal);
    value = load_value(of(signal));
  }
  if (value != 0) return value;
  const uint64_t end = completion_time(of(signal));
  if (polling || virtual_clock::in_callback()) virtual_clock::advance_to(end);
  return end <= virtual_clock::now() ? 0 : 1;
}

hsa_signal_value_t load_relaxed(hsa_signal_t signal) {
  return visible_value(signal, original().core.hsa_signal_load_relaxed_fn(signal));
}
hsa_signal_value_t load_scacquire(hsa_signal_t signal) {
  return visible_value(signal, original().core.hsa_signal_load_scacquire_fn(signal));
}

// ---- waits ----

struct WaitItem {
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t reference;
  hsa_signal_value_t value = 0;  // at the last check

  bool look() {
    value = load_value(of(signal));
    return condition_holds(condition, value, reference);
  }
};

constexpr uint64_t kForEver = ~uint64_t{0};

// Blocks until satisfied() holds, then returns true; returns false after the timeout. The timeout is in virtual ns. The wait
// does not time out until that much real time has passed as well (host threads may still complete signals) and the device,
// which is far slower than the hardware it models, is idle.
template <class Satisfied>
bool block_for(uint64_t timeout, Satisfied satisfied) {
  constexpr std::chrono::nanoseconds kMaxTimeout = 24h * 365;  // more would overflow, and counts as forever
  const bool for_ever = timeout >= static_cast<uint64_t>(kMaxTimeout.count());
  const auto deadline = for_ever ? Clock::time_point::max() : Clock::now() + std::chrono::nanoseconds(timeout);
  bool result = false;
  const host_threads::WaitScope wait(timeout > 0);
  PointlessWaitDetector detector;
  block_until([&] {
    result = satisfied();
    return result || (Clock::now() >= deadline && detector.is_pointless());
  });
  return result;
}

// Whether, in virtual time, `end` is within the timeout. Advances the clock to `end` or to the end of the timeout, whichever is
// earlier.
bool in_time(uint64_t end, uint64_t timeout) {
  const uint64_t now = virtual_clock::now();
  const uint64_t deadline = timeout > kForEver - now ? kForEver : now + timeout;
  if (end <= deadline) {
    virtual_clock::advance_to(end);
    return true;
  }
  virtual_clock::advance_to(deadline);
  return false;
}

hsa_signal_value_t wait_one(WaitItem item, uint64_t timeout) {
  const bool polling = timeout == 0 && is_polling(item.signal);
  if (timeout != 0) end_polling();
  if (!block_for(timeout, [&] { return item.look(); })) return item.value;
  if (in_time(completion_time(of(item.signal)), polling ? kForEver : timeout)) return item.value;
  return item.value + 1;  // the value before the packet's end
}

hsa_signal_value_t wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference,
                                uint64_t timeout, hsa_wait_state_t) {
  return wait_one({signal, condition, reference}, timeout);
}
hsa_signal_value_t wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference,
                                  uint64_t timeout, hsa_wait_state_t) {
  return wait_one({signal, condition, reference}, timeout);  // all of its loads have acquire order
}

std::vector<WaitItem> items_of(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                               const hsa_signal_value_t* references) {
  std::vector<WaitItem> items;
  for (uint32_t i = 0; i < count; ++i) items.push_back({signals[i], conditions[i], references[i]});
  return items;
}

uint32_t wait_any(uint32_t count, hsa_signal_t* signals, hsa_signal_condition_t* conditions, hsa_signal_value_t* references,
                  uint64_t timeout, hsa_wait_state_t, hsa_signal_value_t* value) {
  end_polling();
  auto items = items_of(count, signals, conditions, references);
  uint32_t first = count;
  const auto look = [&] {
    for (uint32_t i = 0; i < count; ++i) {
      if (!items[i].look()) continue;
      if (first == count || completion_time(of(signals[i])) < completion_time(of(signals[first]))) first = i;
    }
    return first != count;
  };
  if (!block_for(timeout, look)) return UINT32_MAX;
  if (!in_time(completion_time(of(signals[first])), timeout)) return UINT32_MAX;
  if (value) *value = items[first].value;
  return first;
}

uint32_t wait_all(uint32_t count, hsa_signal_t* signals, hsa_signal_condition_t* conditions, hsa_signal_value_t* references,
                  uint64_t timeout, hsa_wait_state_t, hsa_signal_value_t* values) {
  end_polling();
  auto items = items_of(count, signals, conditions, references);
  const auto look = [&] { return std::all_of(items.begin(), items.end(), [](WaitItem& item) { return item.look(); }); };
  if (!block_for(timeout, look)) return UINT32_MAX;
  uint64_t end = 0;
  for (uint32_t i = 0; i < count; ++i) end = std::max(end, completion_time(of(signals[i])));
  if (!in_time(end, timeout)) return UINT32_MAX;
  for (uint32_t i = 0; values && i < count; ++i) values[i] = items[i].value;
  return 0;
}

// ---- stores ----

// To be called before a host thread changes a signal's value. A positive value arms the signal for new work, whose end is
// unknown; any other value means that the thread itself completes the signal, unless a device or a tool already has.
void note_host_write(hsa_signal_t signal, hsa_signal_value_t value) {
  if (of(signal).kind != AMD_SIGNAL_KIND_USER) return;
  if (value > 0) __atomic_store_n(&of(signal).end_ts, 0, __ATOMIC_RELAXED);
  else if (completion_time(of(signal)) == 0) set_times(of(signal), virtual_clock::now(), virtual_clock::now());
}

template <auto Function>
void store(hsa_signal_t signal, hsa_signal_value_t value) {
  end_polling();
  if (ring_doorbell(signal, value, original().core.*Function)) return;
  note_host_write(signal, value);
  (original().core.*Function)(signal, value);
  signal_changes().announce();
}

template <auto Function>
void subtract(hsa_signal_t signal, hsa_signal_value_t amount) {
  end_polling();
  note_host_write(signal, load_value(of(signal)) - amount);
  (original().core.*Function)(signal, amount);
  signal_changes().announce();
}

// A new signal may reuse the memory of an old one, which still contains the old times.
void is_new(hsa_status_t status, const hsa_signal_t* signal) {
  if (status != HSA_STATUS_SUCCESS) return;
  of(*signal).start_ts = of(*signal).end_ts = 0;
  writable_memory().add_signal(signal->handle, of(*signal).event_mailbox_ptr);
}

hsa_status_t destroy(hsa_signal_t signal) {
  writable_memory().remove_signal(signal.handle);
  return original().core.hsa_signal_destroy_fn(signal);
}

hsa_status_t create(hsa_signal_value_t value, uint32_t consumer_count, const hsa_agent_t* consumers, hsa_signal_t* signal) {
  const hsa_status_t status = original().core.hsa_signal_create_fn(value, consumer_count, consumers, signal);
  is_new(status, signal);
  return status;
}

hsa_status_t create_with_attributes(hsa_signal_value_t value, uint32_t consumer_count, const hsa_agent_t* consumers,
                                    uint64_t attributes, hsa_signal_t* signal) {
  const hsa_status_t status = original().amd.hsa_amd_signal_create_fn(value, consumer_count, consumers, attributes, signal);
  is_new(status, signal);
  return status;
}

// ---- handlers ----

// A handler runs on ROCr's event thread, at the virtual time when the operation that it waited for ended.
struct Handler {
  hsa_amd_signal_handler function;
  void* argument;
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t reference;
};

bool run_handler(hsa_signal_value_t value, void* context) {
  auto* handler = static_cast<Handler*>(context);
  if (!handlers_at_exit::begin()) return false;
  handlers_at_exit::remove(handler);  // before the function releases the signal
  bool again;
  {
    const virtual_clock::CallbackScope scope(completion_time(of(handler->signal)));
    again = handler->function(value, handler->argument);
  }
  if (again) handlers_at_exit::add(handler, handler->signal, handler->condition, handler->reference);
  else delete handler;
  handlers_at_exit::end();
  return again;
}

hsa_status_t async_handler(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference,
                           hsa_amd_signal_handler function, void* argument) {
  // Without a signal, `function` is a plain function of a different type, to be called once.
  if (signal.handle == 0 || !function)
    return original().amd.hsa_amd_signal_async_handler_fn(signal, condition, reference, function, argument);
  auto handler = std::make_unique<Handler>(Handler{function, argument, signal, condition, reference});
  // Called at the first registration rather than on loading, because by then more of HIP's static objects exist.
  static std::once_flag first;
  std::call_once(first, handlers_at_exit::wait_for_handlers_at_exit);
  handlers_at_exit::add(handler.get(), signal, condition, reference);
  const hsa_status_t status =
      original().amd.hsa_amd_signal_async_handler_fn(signal, condition, reference, run_handler, handler.get());
  if (status == HSA_STATUS_SUCCESS) handler.release();
  else handlers_at_exit::remove(handler.get());
  return status;
}

}  // namespace

void hook_signals(CoreApiTable& core, AmdExtTable& amd) {
  core.hsa_signal_create_fn = create;
  core.hsa_signal_destroy_fn = destroy;
  core.hsa_signal_load_relaxed_fn = load_relaxed;
  core.hsa_signal_load_scacquire_fn = load_scacquire;
  core.hsa_signal_wait_relaxed_fn = wait_relaxed;
  core.hsa_signal_wait_scacquire_fn = wait_scacquire;
  core.hsa_signal_store_relaxed_fn = store<&CoreApiTable::hsa_signal_store_relaxed_fn>;
  core.hsa_signal_store_screlease_fn = store<&CoreApiTable::hsa_signal_store_screlease_fn>;
  core.hsa_signal_silent_store_relaxed_fn = store<&CoreApiTable::hsa_signal_silent_store_relaxed_fn>;
  core.hsa_signal_silent_store_screlease_fn = store<&CoreApiTable::hsa_signal_silent_store_screlease_fn>;
  core.hsa_signal_subtract_relaxed_fn = subtract<&CoreApiTable::hsa_signal_subtract_relaxed_fn>;
  core.hsa_signal_subtract_scacquire_fn = subtract<&CoreApiTable::hsa_signal_subtract_scacquire_fn>;
  core.hsa_signal_subtract_screlease_fn = subtract<&CoreApiTable::hsa_signal_subtract_screlease_fn>;
  core.hsa_signal_subtract_scacq_screl_fn = subtract<&CoreApiTable::hsa_signal_subtract_scacq_screl_fn>;
  amd.hsa_amd_signal_create_fn = create_with_attributes;
  amd.hsa_amd_signal_wait_any_fn = wait_any;
  amd.hsa_amd_signal_wait_all_fn = wait_all;
  amd.hsa_amd_signal_async_handler_fn = async_handler;
}

}  // namespace rpd
