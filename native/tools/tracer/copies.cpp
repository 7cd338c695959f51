// Asynchronous copies. Each is recorded on submission and given one of the tracer's completion signals, which provides its
// times.
#include <atomic>
#include <span>

#include "tracer/agents.h"
#include "tracer/collector.h"
#include "tracer/host_context.h"
#include "tracer/host_waits.h"
#include "tracer/recorder.h"
#include "tracer/wrappers.h"

namespace rpd::tracer {
namespace {

struct Transfer {
  const void* destination;
  const void* source;
  uint64_t bytes;
  uint32_t destination_node, source_node;
};

std::atomic<uint64_t> copies{0};

InFlightList& copies_in_flight() {
  static InFlightList& list = the_collector().add_list();
  return list;
}

// Records the copy and lets `submit` start it with one of the tracer's completion signals. The copy is added to the list only
// once ROCr has accepted it, since a rejected copy never completes.
template <class Submit>
hsa_status_t trace_copy(const Transfer& transfer, uint32_t waits, const hsa_signal_t* signals, hsa_signal_t completion,
                        Submit submit) {
  if (!recording.load(std::memory_order_relaxed)) return submit(completion);
  const OperationInFlight operation{
      the_collector().stand_in_for(completion), completion, {0}, ++copies, 0, OperationKind::copy};
  if (operation.signal.handle == 0) return submit(completion);

  spool::Copy copy{};
  copy.copy_id = operation.id;
  copy.completion_signal = completion.handle;
  copy.destination = reinterpret_cast<uint64_t>(transfer.destination);
  copy.source = reinterpret_cast<uint64_t>(transfer.source);
  copy.size = transfer.bytes;
  copy.origin = host_context().origin();
  copy.destination_node = transfer.destination_node;
  copy.source_node = transfer.source_node;
  copy.signal_count = waits;
  record(spool::Kind::copy, copy, {}, std::as_bytes(std::span(signals, waits)));
  note_completing_submission(completion);

  const hsa_status_t status = submit(operation.signal);
  if (status == HSA_STATUS_SUCCESS) the_collector().submitted(copies_in_flight(), operation);
  else the_collector().refused(operation);
  return status;
}

hsa_status_t async_copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t bytes, uint32_t waits,
                        const hsa_signal_t* signals, hsa_signal_t completion) {
  return trace_copy(
      {to, from, bytes, node_of(to_agent), node_of(from_agent)}, waits, signals, completion, [&](hsa_signal_t own_signal) {
        return hsa.amd.hsa_amd_memory_async_copy_fn(to, to_agent, from, from_agent, bytes, waits, signals, own_signal);
      });
}

hsa_status_t async_copy_on_engine(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t bytes,
                                  uint32_t waits, const hsa_signal_t* signals, hsa_signal_t completion,
                                  hsa_amd_sdma_engine_id_t engine, bool force) {
  return trace_copy({to, from, bytes, node_of(to_agent), node_of(from_agent)}, waits, signals, completion,
                    [&](hsa_signal_t own_signal) {
                      return hsa.amd.hsa_amd_memory_async_copy_on_engine_fn(to, to_agent, from, from_agent, bytes, waits,
                                                                            signals, own_signal, engine, force);
                    });
}

hsa_status_t async_copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
                             const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t agent,
                             hsa_amd_copy_direction_t direction, uint32_t waits, const hsa_signal_t* signals,
                             hsa_signal_t completion) {
  const bool to_host = direction == hsaHostToHost || direction == hsaDeviceToHost;
  const bool from_host = direction == hsaHostToHost || direction == hsaHostToDevice;
  const uint64_t bytes = uint64_t(range->x) * range->y * range->z;
  const Transfer transfer{to->base, from->base, bytes, to_host ? host_node() : node_of(agent),
                          from_host ? host_node() : node_of(agent)};
  return trace_copy(transfer, waits, signals, completion, [&](hsa_signal_t own_signal) {
    return hsa.amd.hsa_amd_memory_async_copy_rect_fn(to, to_offset, from, from_offset, range, agent, direction, waits, signals,
                                                     own_signal);
  });
}

hsa_status_t get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* times) {
  if (times != nullptr && the_collector().copy_times(signal, *times)) return HSA_STATUS_SUCCESS;
  return hsa.amd.hsa_amd_profiling_get_async_copy_time_fn(signal, times);
}

hsa_status_t profiling_async_copy_enable(bool enable) {
  return hsa.amd.hsa_amd_profiling_async_copy_enable_fn(recording.load() || enable);
}

}  // namespace

void wrap_copies(HsaApiTable* table) {
  hsa.amd.hsa_amd_profiling_async_copy_enable_fn(true);
  table->amd_ext_->hsa_amd_memory_async_copy_fn = async_copy;
  table->amd_ext_->hsa_amd_memory_async_copy_on_engine_fn = async_copy_on_engine;
  table->amd_ext_->hsa_amd_memory_async_copy_rect_fn = async_copy_rect;
  table->amd_ext_->hsa_amd_profiling_get_async_copy_time_fn = get_async_copy_time;
  table->amd_ext_->hsa_amd_profiling_async_copy_enable_fn = profiling_async_copy_enable;
}

}  // namespace rpd::tracer
