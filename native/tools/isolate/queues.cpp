// Queues. Until the chosen dispatch has been submitted, every packet of the program passes through here, on one of the
// submitting threads.
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/ring_throttle.h"
#include "isolate/argument_memory.h"
#include "isolate/capture_dispatch.h"
#include "isolate/failures.h"
#include "isolate/state.h"
#include "isolate/submission_barrier.h"
#include "isolate/target.h"
#include "isolate/wrappers.h"

namespace rpd::isolate {
namespace {

// How long to keep waiting when no dispatch or copy completes. Kernels on the software device can be slow.
constexpr int64_t kPatienceSeconds = 600;

struct WatchedQueue {
  WatchedQueue(const hsa_queue_t* handle, hsa_agent_t agent) : agent(agent), throttle(handle) {}
  hsa_agent_t agent;
  InFlightList in_flight{InFlightList::Order::in_queue};
  RingThrottle throttle;
};

class OpenQueues {
 public:
  WatchedQueue& opened(const hsa_queue_t* handle, hsa_agent_t agent) {
    const std::lock_guard lock(mutex_);
    // Lives as long as the process: packets may still be submitted while other threads destroy the queue.
    return *(queues_[handle] = new WatchedQueue(handle, agent));
  }
  void closed(const hsa_queue_t* handle) {
    const std::lock_guard lock(mutex_);
    queues_.erase(handle);
  }
  WatchedQueue* find(const hsa_queue_t* handle) {
    const std::shared_lock lock(mutex_);
    const auto entry = queues_.find(handle);
    return entry == queues_.end() ? nullptr : entry->second;
  }
  std::vector<InFlightList*> lists() {
    const std::shared_lock lock(mutex_);
    std::vector<InFlightList*> lists{&copies_in_flight()};
    for (const auto& [handle, queue] : queues_) lists.push_back(&queue->in_flight);
    return lists;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const hsa_queue_t*, WatchedQueue*> queues_;
};

OpenQueues& open_queues() {
  static OpenQueues& queues = *new OpenQueues;
  return queues;
}

// Waits until `drained` returns true; returns false if the GPU fails, or if nothing in `lists` completes for too long.
template <class Drained>
bool wait_until(const std::vector<InFlightList*>& lists, Drained drained) {
  const auto progress = [&] {
    uint64_t sum = 0;
    for (const InFlightList* list : lists) sum += list->completed();
    return sum;
  };
  const auto seconds = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
  };
  uint64_t seen = progress();
  int64_t since = seconds();
  while (!drained()) {
    if (const uint64_t now = progress(); now != seen) seen = now, since = seconds();
    if (seconds() - since > kPatienceSeconds || gpu_failed.load()) return false;
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

bool all_quiet(const std::vector<InFlightList*>& lists) {
  for (InFlightList* list : lists)
    if (!list->is_quiet()) return false;
  return true;
}

// Waits until everything before the chosen dispatch in its own queue is complete, and the other queues and the copy engines are
// quiet. Returns true with the submission barrier closed, or false with it open if a wait fails.
bool drain(InFlightList& own) {
  const std::vector<InFlightList*> lists = open_queues().lists();
  if (!wait_until(lists, [&] { return own.empty(); })) return false;
  the_submission_barrier().close();
  if (wait_until(lists, [&] { return all_quiet(lists); })) return true;
  the_submission_barrier().open();
  return false;
}

void capture(WatchedQueue& queue, const Packet& packet, std::shared_ptr<const LoadedKernel> kernel,
             hsa_amd_queue_intercept_packet_writer write) {
  const auto submit = [&](const Packet& ready) { write(&ready, 1); };
  if (!drain(queue.in_flight)) {
    report_failure(gpu_failed.load()
                       ? "an earlier kernel failed"
                       : "the queues stay busy: nothing has completed for " + std::to_string(kPatienceSeconds) + " seconds");
    submit(packet);
  } else {
    capture_dispatch({packet, std::move(kernel), queue.agent}, submit);
    watching.store(false);
    the_submission_barrier().open();
  }
  watching.store(false);
}

void on_submit(const void* packets, uint64_t count, uint64_t, void* data, hsa_amd_queue_intercept_packet_writer write) {
  if (!active()) return write(packets, count);
  auto& queue = *static_cast<WatchedQueue*>(data);
  std::vector<Packet> ready;
  const auto hand_on = [&] {
    if (!ready.empty()) write(ready.data(), ready.size());
    ready.clear();
  };
  for (const Packet& packet : std::span(static_cast<const Packet*>(packets), count)) {
    the_submission_barrier().pass();
    if (active() && type_of(packet) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      note_arguments(packet.dispatch.kernarg_address);
      auto kernel = kernel_at(packet.dispatch.kernel_object);
      if (kernel) note_dispatch(kernel->kernel.name);
      if (kernel && kernel->wanted && is_dispatch_to_capture()) {
        hand_on();
        capture(queue, packet, std::move(kernel), write);
        continue;
      }
    }
    ready.push_back(packet);
    if (active()) queue.in_flight.submitted(ready.back());
  }
  hand_on();
}

hsa_status_t create_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          void (*on_error)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                          uint32_t group_bytes, hsa_queue_t** queue) {
  if (!active()) return hsa.core.hsa_queue_create_fn(agent, size, type, on_error, data, private_bytes, group_bytes, queue);
  auto* const errors = new QueueErrors{on_error, data};
  const hsa_status_t status = hsa.amd.hsa_amd_queue_intercept_create_fn(agent, size, type, QueueErrors::report, errors,
                                                                        private_bytes, group_bytes, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  hsa.amd.hsa_amd_queue_intercept_register_fn(*queue, on_submit, &open_queues().opened(*queue, agent));
  hsa.amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  return status;
}

hsa_status_t destroy_queue(hsa_queue_t* queue) {
  if (WatchedQueue* const watched = open_queues().find(queue)) watched->in_flight.empty();  // returns its signals to the pool
  open_queues().closed(queue);
  return hsa.core.hsa_queue_destroy_fn(queue);
}

// Still needed after the capture, because the ring that RingThrottle guards exists for as long as the queue does.
uint64_t add_write_index(const hsa_queue_t* handle, uint64_t count) {
  WatchedQueue* const queue = open_queues().find(handle);
  if (queue == nullptr) return hsa.core.hsa_queue_add_write_index_scacq_screl_fn(handle, count);
  return queue->throttle.reserve(count);
}

uint64_t cas_write_index(const hsa_queue_t* handle, uint64_t expected, uint64_t value) {
  if (WatchedQueue* const queue = open_queues().find(handle)) queue->throttle.await(value);
  return hsa.core.hsa_queue_cas_write_index_scacq_screl_fn(handle, expected, value);
}

void store_write_index(const hsa_queue_t* handle, uint64_t value) {
  if (WatchedQueue* const queue = open_queues().find(handle)) queue->throttle.await(value);
  hsa.core.hsa_queue_store_write_index_screlease_fn(handle, value);
}

}  // namespace

void give_up_signals() {
  for (InFlightList* list : open_queues().lists()) list->empty();
  destroy_signals();
}

void wrap_queues(HsaApiTable* table) {
  CoreApiTable& core = *table->core_;
  core.hsa_queue_create_fn = create_queue;
  core.hsa_queue_destroy_fn = destroy_queue;
  // The strongest memory order is correct for all variants.
  core.hsa_queue_add_write_index_relaxed_fn = add_write_index;
  core.hsa_queue_add_write_index_scacquire_fn = add_write_index;
  core.hsa_queue_add_write_index_screlease_fn = add_write_index;
  core.hsa_queue_add_write_index_scacq_screl_fn = add_write_index;
  core.hsa_queue_cas_write_index_relaxed_fn = cas_write_index;
  core.hsa_queue_cas_write_index_scacquire_fn = cas_write_index;
  core.hsa_queue_cas_write_index_screlease_fn = cas_write_index;
  core.hsa_queue_cas_write_index_scacq_screl_fn = cas_write_index;
  core.hsa_queue_store_write_index_relaxed_fn = store_write_index;
  core.hsa_queue_store_write_index_screlease_fn = store_write_index;
}

}  // namespace rpd::isolate
