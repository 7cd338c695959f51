// Queues. Every packet that the application submits passes through here, on one of the submitting threads. Dispatches get one
// of the tracer's completion signals; barrier packets are recorded because of what they wait for, and are passed on unchanged.
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/ring_throttle.h"
#include "tracer/agents.h"
#include "tracer/collector.h"
#include "tracer/counter_sampling.h"
#include "tracer/host_context.h"
#include "tracer/host_waits.h"
#include "tracer/recorder.h"
#include "tracer/submitters.h"
#include "tracer/wrappers.h"

namespace rpd::tracer {
namespace {

using spool::Kind;
using spool::Waits;

// All AQL packets are 64 bytes, with the header first and the completion signal last.
union Packet {
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier;  // barrier-OR has the same layout
  hsa_amd_vendor_packet_header_t vendor;
  hsa_amd_barrier_value_packet_t barrier_value;
};
static_assert(sizeof(Packet) == 64);

struct TracedQueue {
  uint32_t id;
  hsa_agent_t agent;
  InFlightList* in_flight;
  uint64_t max_in_flight;  // packets
  Submitters submitters;
  RingThrottle throttle;
  // ROCr lets only one thread at a time submit to a queue. The buffer is not thread_local: HIP still submits packets when the
  // main thread's thread_local objects have already been destroyed.
  uint64_t submitted = 0;  // packets
  std::vector<Packet> rewritten{};
};

std::atomic<uint64_t> dispatches{0};
std::atomic<uint32_t> queues{0};

CounterSampling& counter_sampling() {
  static CounterSampling& sampling = *new CounterSampling;  // never destroyed, see the_spool()
  return sampling;
}

class OpenQueues {
 public:
  void opened(const hsa_queue_t* handle, TracedQueue& queue) {
    std::lock_guard lock(mutex_);
    queues_[handle] = &queue;  // a handle may be reused for a new queue
  }

  TracedQueue* find(const hsa_queue_t* handle) {
    std::shared_lock lock(mutex_);
    const auto entry = queues_.find(handle);
    return entry == queues_.end() ? nullptr : entry->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const hsa_queue_t*, TracedQueue*> queues_;
};

OpenQueues& open_queues() {
  static OpenQueues& queues = *new OpenQueues;
  return queues;
}

uint8_t type_of(const Packet& packet) { return packet.dispatch.header >> HSA_PACKET_HEADER_TYPE & 0xff; }
uint32_t barrier_bit_of(const Packet& packet) { return packet.dispatch.header >> HSA_PACKET_HEADER_BARRIER & 1; }

void submit_dispatch(hsa_kernel_dispatch_packet_t& packet, uint32_t barrier_bit, const spool::Origin& origin,
                     TracedQueue& queue) {
  const OperationInFlight operation{the_collector().stand_in_for(packet.completion_signal),
                                    packet.completion_signal,
                                    queue.agent,
                                    ++dispatches,
                                    queue.submitted,
                                    OperationKind::dispatch,
                                    counter_sampling().keeps_next(packet.kernel_object)};
  spool::Dispatch dispatch{};
  dispatch.dispatch_id = operation.id;
  dispatch.kernel_object = packet.kernel_object;
  dispatch.completion_signal = packet.completion_signal.handle;
  dispatch.origin = origin;
  dispatch.grid[0] = packet.grid_size_x, dispatch.grid[1] = packet.grid_size_y, dispatch.grid[2] = packet.grid_size_z;
  dispatch.workgroup[0] = packet.workgroup_size_x;
  dispatch.workgroup[1] = packet.workgroup_size_y;
  dispatch.workgroup[2] = packet.workgroup_size_z;
  dispatch.private_bytes = packet.private_segment_size;
  dispatch.group_bytes = packet.group_segment_size;
  dispatch.queue_id = queue.id;
  dispatch.barrier_bit = barrier_bit;
  record(Kind::dispatch, dispatch);
  note_completing_submission(packet.completion_signal);
  if (operation.signal.handle == 0) return;  // no signal available: the dispatch runs, but its times stay unknown
  packet.completion_signal = operation.signal;
  the_collector().submitted(*queue.in_flight, operation);
}

void record_barrier(const Packet& packet, const spool::Origin& origin, const TracedQueue& queue) {
  spool::Barrier barrier{};
  barrier.completion_signal = packet.barrier.completion_signal.handle;
  barrier.thread = origin.thread;
  barrier.queue_id = queue.id;
  barrier.barrier_bit = barrier_bit_of(packet);
  const uint8_t type = type_of(packet);
  if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
    barrier.waits = type == HSA_PACKET_TYPE_BARRIER_AND ? Waits::all : Waits::any;
    for (int i = 0; i < 5; ++i) barrier.signals[i] = packet.barrier.dep_signal[i].handle;
  } else if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC && packet.vendor.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    barrier.waits = Waits::all;
    barrier.signals[0] = packet.barrier_value.signal.handle;
  }
  record(Kind::barrier, barrier);
  note_completing_submission(packet.barrier.completion_signal);
}

// Without a tracer, a program waits for a free slot in the ring of its hardware queue. Here it waits earlier, in the
// interceptor, once half a ring of packets is in flight: a read index may lag behind completion, and ROCr's own mechanism for
// postponing packets has seen little testing.
bool has_room(const TracedQueue& queue) { return queue.submitted - queue.in_flight->last_completed() < queue.max_in_flight; }

void wait_for_room(const TracedQueue& queue) {
  while (!has_room(queue)) {
    the_collector().collect();
    if (queue.in_flight->empty()) return;  // only barrier packets are in flight
    const timespec pause{0, 200'000};  // half a ring takes longer to process; polling more often would slow the device down
    nanosleep(&pause, nullptr);
  }
}

void rewrite(Packet& packet, const spool::Origin& origin, TracedQueue& queue) {
  ++queue.submitted;
  if (type_of(packet) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
    submit_dispatch(packet.dispatch, barrier_bit_of(packet), origin, queue);
  else record_barrier(packet, origin, queue);
}

void on_submit(const void* packets, uint64_t count, uint64_t first, void* data, hsa_amd_queue_intercept_packet_writer write) {
  if (!recording.load(std::memory_order_relaxed)) return write(packets, count);
  auto& queue = *static_cast<TracedQueue*>(data);
  auto& rewritten = queue.rewritten;
  const auto hand_on = [&] {
    if (!rewritten.empty()) write(rewritten.data(), rewritten.size());
    rewritten.clear();
  };
  for (const Packet& packet : std::span(static_cast<const Packet*>(packets), count)) {
    if (!has_room(queue)) {
      hand_on();  // wait_for_room() may be waiting for some of these packets
      wait_for_room(queue);
    }
    rewrite(rewritten.emplace_back(packet), queue.submitters.of(first++), queue);
  }
  hand_on();
}

hsa_status_t create_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          void (*on_error)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                          uint32_t group_bytes, hsa_queue_t** queue) {
  if (!recording.load())
    return hsa.core.hsa_queue_create_fn(agent, size, type, on_error, data, private_bytes, group_bytes, queue);
  hsa_status_t status =
      hsa.amd.hsa_amd_queue_intercept_create_fn(agent, size, type, on_error, data, private_bytes, group_bytes, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  // Lives as long as the process: packets may still be submitted while other threads destroy the queue.
  auto* traced = new TracedQueue{
      ++queues, agent, &the_collector().add_list(), (*queue)->size / 2, Submitters((*queue)->size), RingThrottle(*queue)};
  open_queues().opened(*queue, *traced);
  spool::Queue created{};
  created.queue_id = traced->id;
  created.node_id = node_of(agent);
  record(Kind::queue, created);
  hsa.amd.hsa_amd_queue_intercept_register_fn(*queue, on_submit, traced);
  hsa.amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  return status;
}

hsa_status_t destroy_queue(hsa_queue_t* queue) {
  if (recording.load()) the_collector().collect();
  return hsa.core.hsa_queue_destroy_fn(queue);
}

uint64_t add_write_index(const hsa_queue_t* handle, uint64_t count) {
  TracedQueue* const queue = recording.load(std::memory_order_relaxed) ? open_queues().find(handle) : nullptr;
  if (queue == nullptr) return hsa.core.hsa_queue_add_write_index_scacq_screl_fn(handle, count);
  const uint64_t first = queue->throttle.reserve(count);
  queue->submitters.reserved(first, count);
  return first;
}

uint64_t cas_write_index(const hsa_queue_t* handle, uint64_t expected, uint64_t value) {
  TracedQueue* const queue = recording.load(std::memory_order_relaxed) ? open_queues().find(handle) : nullptr;
  if (queue != nullptr) queue->throttle.await(value);
  const uint64_t previous = hsa.core.hsa_queue_cas_write_index_scacq_screl_fn(handle, expected, value);
  if (queue != nullptr && previous == expected) queue->submitters.reserved(expected, value - expected);
  return previous;
}

void store_write_index(const hsa_queue_t* handle, uint64_t value) {
  if (recording.load(std::memory_order_relaxed))
    if (TracedQueue* const queue = open_queues().find(handle)) queue->throttle.await(value);
  hsa.core.hsa_queue_store_write_index_screlease_fn(handle, value);
}

// HIP switches timestamps off if it does not need them, but the tracer always needs them.
hsa_status_t set_profiler_enabled(hsa_queue_t* queue, int enable) {
  return hsa.amd.hsa_amd_profiling_set_profiler_enabled_fn(queue, recording.load() ? 1 : enable);
}

}  // namespace

void wrap_queues(HsaApiTable* table) {
  table->core_->hsa_queue_create_fn = create_queue;
  table->core_->hsa_queue_destroy_fn = destroy_queue;
  // The strongest memory order is correct for all variants.
  table->core_->hsa_queue_add_write_index_relaxed_fn = add_write_index;
  table->core_->hsa_queue_add_write_index_scacquire_fn = add_write_index;
  table->core_->hsa_queue_add_write_index_screlease_fn = add_write_index;
  table->core_->hsa_queue_add_write_index_scacq_screl_fn = add_write_index;
  table->core_->hsa_queue_cas_write_index_relaxed_fn = cas_write_index;
  table->core_->hsa_queue_cas_write_index_scacquire_fn = cas_write_index;
  table->core_->hsa_queue_cas_write_index_screlease_fn = cas_write_index;
  table->core_->hsa_queue_cas_write_index_scacq_screl_fn = cas_write_index;
  table->core_->hsa_queue_store_write_index_relaxed_fn = store_write_index;
  table->core_->hsa_queue_store_write_index_screlease_fn = store_write_index;
  table->amd_ext_->hsa_amd_profiling_set_profiler_enabled_fn = set_profiler_enabled;
}

}  // namespace rpd::tracer
