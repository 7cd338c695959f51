#include "isolate/in_flight.h"

#include <algorithm>
#include <shared_mutex>
#include <unordered_map>

#include "common/signal_pool.h"
#include "isolate/state.h"
#include "isolate/submission_barrier.h"
#include "isolate/wrappers.h"

namespace rpd::isolate {
namespace {

SignalPool& pool() {
  static SignalPool& pool = *new SignalPool(HSA_AMD_SIGNAL_AMD_GPU_ONLY);
  return pool;
}

std::atomic<uint64_t> submissions{0};

// Records when the program last gave a watched signal a new value; time is counted in submissions.
class WatchedSignals {
 public:
  void watch(hsa_signal_t signal) {
    const std::unique_lock lock(mutex_);
    renewed_.try_emplace(signal.handle, 0);
  }
  void renewed(hsa_signal_t signal) {
    const std::shared_lock lock(mutex_);
    const auto entry = renewed_.find(signal.handle);
    if (entry != renewed_.end()) entry->second.store(++submissions);
  }
  bool was_renewed(hsa_signal_t signal, uint64_t since) const {
    const std::shared_lock lock(mutex_);
    const auto entry = renewed_.find(signal.handle);
    return entry != renewed_.end() && entry->second.load() > since;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::atomic<uint64_t>> renewed_;
};

WatchedSignals& watched_signals() {
  static WatchedSignals& watched_signals = *new WatchedSignals;
  return watched_signals;
}

hsa_signal_value_t value_of(hsa_signal_t signal) { return __atomic_load_n(&memory_of(signal)->value, __ATOMIC_ACQUIRE); }

bool holds(hsa_signal_condition32_t condition, hsa_signal_value_t value, hsa_signal_value_t wanted) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == wanted;
    case HSA_SIGNAL_CONDITION_NE: return value != wanted;
    case HSA_SIGNAL_CONDITION_LT: return value < wanted;
    default: return value >= wanted;
  }
}

}  // namespace

void InFlightList::submitted(Packet& packet) {
  const uint8_t type = type_of(packet);
  Work work;
  if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
    work.waits = type == HSA_PACKET_TYPE_BARRIER_AND ? Waits::all : Waits::any;
    for (const hsa_signal_t signal : packet.barrier.dep_signal)
      if (signal.handle != 0) work.dependencies.push_back(signal);
  } else if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC && packet.vendor.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    work.waits = Waits::value;
    work.condition = packet.barrier_value;
  } else if (type != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    return;  // one of ROCr's own commands to the queue, which do not access the program's memory
  }
  const std::lock_guard lock(mutex_);
  take_completed();
  work.signal = packet.dispatch.completion_signal;
  if (work.signal.handle == 0) {
    work.signal = pool().take();
    if (work.signal.handle == 0) return;
    work.uses_library_signal = true;
    packet.dispatch.completion_signal = work.signal;
  } else {
    watched_signals().watch(work.signal);
  }
  work.serial = ++submissions;
  work_.push_back(std::move(work));
}

void InFlightList::submitted_copy(hsa_signal_t completion, std::span<const hsa_signal_t> waits_for) {
  if (completion.handle == 0) return;
  const std::lock_guard lock(mutex_);
  take_completed();
  watched_signals().watch(completion);
  Work work;
  work.signal = completion;
  work.waits = waits_for.empty() ? Waits::no : Waits::all;
  work.dependencies.assign(waits_for.begin(), waits_for.end());
  work.serial = ++submissions;
  work_.push_back(std::move(work));
}

bool InFlightList::is_complete(const Work& work) const {
  if (value_of(work.signal) <= 0) return true;
  return !work.uses_library_signal && watched_signals().was_renewed(work.signal, work.serial);
}

bool InFlightList::is_blocked(const Work& work) const {
  const auto open = [](hsa_signal_t signal) { return value_of(signal) > 0; };
  switch (work.waits) {
    case Waits::no: return false;
    case Waits::all: return std::any_of(work.dependencies.begin(), work.dependencies.end(), open);
    case Waits::any: return !work.dependencies.empty() && std::all_of(work.dependencies.begin(), work.dependencies.end(), open);
    case Waits::value:
      return work.condition.signal.handle != 0 &&
             !holds(work.condition.cond, value_of(work.condition.signal) & work.condition.mask, work.condition.value);
  }
  return false;
}

void InFlightList::take_completed() {
  const size_t before = work_.size();
  std::erase_if(work_, [this](const Work& work) {
    if (!is_complete(work)) return false;
    if (work.uses_library_signal) pool().give_back(work.signal);
    return true;
  });
  completed_ += before - work_.size();
}

bool InFlightList::is_quiet() {
  const std::lock_guard lock(mutex_);
  take_completed();
  for (const Work& work : work_) {
    if (!is_blocked(work)) return false;
    if (order_ == Order::in_queue) return true;
  }
  return true;
}

bool InFlightList::empty() {
  const std::lock_guard lock(mutex_);
  take_completed();
  return work_.empty();
}

InFlightList& copies_in_flight() {
  static InFlightList& list = *new InFlightList(InFlightList::Order::none);
  return list;
}

void destroy_signals() { pool().destroy_all(); }

namespace {

template <auto Original>
void store(hsa_signal_t signal, hsa_signal_value_t value) {
  if (active()) {
    the_submission_barrier().pass();
    watched_signals().renewed(signal);
  }
  (hsa.core.*Original)(signal, value);
}

hsa_status_t destroy(hsa_signal_t signal) {
  if (active()) watched_signals().renewed(signal);
  return hsa.core.hsa_signal_destroy_fn(signal);
}

hsa_status_t async_copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t bytes, uint32_t waits,
                        const hsa_signal_t* signals, hsa_signal_t completion) {
  if (active()) the_submission_barrier().pass(), copies_in_flight().submitted_copy(completion, {signals, waits});
  return hsa.amd.hsa_amd_memory_async_copy_fn(to, to_agent, from, from_agent, bytes, waits, signals, completion);
}

hsa_status_t async_copy_on_engine(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t bytes,
                                  uint32_t waits, const hsa_signal_t* signals, hsa_signal_t completion,
                                  hsa_amd_sdma_engine_id_t engine, bool force) {
  if (active()) the_submission_barrier().pass(), copies_in_flight().submitted_copy(completion, {signals, waits});
  return hsa.amd.hsa_amd_memory_async_copy_on_engine_fn(to, to_agent, from, from_agent, bytes, waits, signals, completion,
                                                        engine, force);
}

hsa_status_t async_copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
                             const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t agent,
                             hsa_amd_copy_direction_t direction, uint32_t waits, const hsa_signal_t* signals,
                             hsa_signal_t completion) {
  if (active()) the_submission_barrier().pass(), copies_in_flight().submitted_copy(completion, {signals, waits});
  return hsa.amd.hsa_amd_memory_async_copy_rect_fn(to, to_offset, from, from_offset, range, agent, direction, waits, signals,
                                                   completion);
}

}  // namespace

void wrap_signals(HsaApiTable* table) {
  CoreApiTable& core = *table->core_;
  core.hsa_signal_store_relaxed_fn = store<&CoreApiTable::hsa_signal_store_relaxed_fn>;
  core.hsa_signal_store_screlease_fn = store<&CoreApiTable::hsa_signal_store_screlease_fn>;
  core.hsa_signal_silent_store_relaxed_fn = store<&CoreApiTable::hsa_signal_silent_store_relaxed_fn>;
  core.hsa_signal_silent_store_screlease_fn = store<&CoreApiTable::hsa_signal_silent_store_screlease_fn>;
  core.hsa_signal_destroy_fn = destroy;
}

void wrap_copies(HsaApiTable* table) {
  table->amd_ext_->hsa_amd_memory_async_copy_fn = async_copy;
  table->amd_ext_->hsa_amd_memory_async_copy_on_engine_fn = async_copy_on_engine;
  table->amd_ext_->hsa_amd_memory_async_copy_rect_fn = async_copy_rect;
}

}  // namespace rpd::isolate
