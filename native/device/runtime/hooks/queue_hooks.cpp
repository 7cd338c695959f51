// The program's queues: their doorbells, their error callbacks, and the hardware queues that execute their packets.
#include <cstring>

#include "runtime/hooks/hooks.h"
#include "runtime/queues/aql_packets.h"
#include "runtime/queues/aql_queue.h"
#include "runtime/queues/queue_registry.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"
#include "runtime/virtual_clock.h"
#include "timing/parameters.h"

namespace rpd {
namespace {

void remember(hsa_queue_t* queue, QueueErrorCallback callback, void* data) {
  auto hardware = queue_registry().take_last_created();
  auto program_queue = std::make_shared<ProgramQueue>();
  program_queue->queue = queue;
  program_queue->error_callback = callback;
  program_queue->error_data = data;
  program_queue->hardware = hardware;
  program_queue->intercepted = !hardware || hardware->ring_address() != reinterpret_cast<uint64_t>(queue->base_address);
  program_queue->next_unstamped = original().core.hsa_queue_load_write_index_relaxed_fn(queue);
  queue_registry().add(program_queue);
  if (!program_queue->intercepted) hardware->require_release();
}

hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueErrorCallback callback, void* data,
                          uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) {
  queue_registry().take_last_created();
  const hsa_status_t status = original().core.hsa_queue_create_fn(agent, size, without_global_wave_sync(type), callback, data,
                                                                  private_bytes, group_bytes, queue);
  if (status == HSA_STATUS_SUCCESS) remember(*queue, callback, data);
  return status;
}

hsa_status_t queue_intercept_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueErrorCallback callback,
                                    void* data, uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) {
  queue_registry().take_last_created();
  const hsa_status_t status = original().amd.hsa_amd_queue_intercept_create_fn(
      agent, size, without_global_wave_sync(type), callback, data, private_bytes, group_bytes, queue);
  if (status == HSA_STATUS_SUCCESS) remember(*queue, callback, data);
  return status;
}

hsa_status_t queue_destroy(hsa_queue_t* queue) {
  queue_registry().remove(queue);
  const QueueDestruction destruction;
  return original().core.hsa_queue_destroy_fn(queue);
}

// ---- priorities and compute unit masks: accepted, but with no effect on what runs where or when ----

hsa_status_t set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  if (!queue) return HSA_STATUS_ERROR_INVALID_QUEUE;
  const bool known = priority >= HSA_AMD_QUEUE_PRIORITY_LOW && priority <= HSA_AMD_QUEUE_PRIORITY_HIGH;
  return known ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t set_mask(const hsa_queue_t* queue, uint32_t bits, const uint32_t* mask) {
  const auto registered = queue ? queue_registry().by_doorbell(queue->doorbell_signal) : nullptr;
  if (!registered) return HSA_STATUS_ERROR_INVALID_QUEUE;
  if (bits % 32 != 0 || (bits > 0 && !mask)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const std::lock_guard lock(registered->stamping);
  registered->mask.assign(mask, mask + bits / 32);
  return HSA_STATUS_SUCCESS;
}

// If no mask has been set, all compute units are enabled.
hsa_status_t get_mask(const hsa_queue_t* queue, uint32_t bits, uint32_t* mask) {
  const auto registered = queue ? queue_registry().by_doorbell(queue->doorbell_signal) : nullptr;
  if (!registered) return HSA_STATUS_ERROR_INVALID_QUEUE;
  if (bits == 0 || bits % 32 != 0 || !mask) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const std::lock_guard lock(registered->stamping);
  for (uint32_t word = 0; word < bits / 32; ++word)
    mask[word] = registered->mask.empty() ? ~0u : word < registered->mask.size() ? registered->mask[word] : 0;
  return HSA_STATUS_SUCCESS;
}

// Stamps a packet with the calling thread's time; returns false if the packet is still being written.
bool stamp(const ProgramQueue& queue, uint64_t index) {
  auto* ring = static_cast<unsigned char*>(queue.queue->base_address);
  unsigned char* packet = ring + index % queue.queue->size * kAqlPacketBytes;
  const uint16_t header = __atomic_load_n(reinterpret_cast<uint16_t*>(packet), __ATOMIC_ACQUIRE);
  if (packet_type(header) == HSA_PACKET_TYPE_INVALID) return false;
  if (packet_type(header) == HSA_PACKET_TYPE_KERNEL_DISPATCH) virtual_clock::advance_by(submit_cost_ns());
  const uint64_t time = virtual_clock::now();
  std::memcpy(packet + kSubmitTimeOffset, &time, sizeof time);
  return true;
}

// Stamps the packets before `end` that have not been stamped. With several producers, a doorbell may cover packets that another
// thread is still writing; that thread will ring the doorbell for them itself. Returns the index up to which all packets are
// stamped.
uint64_t stamp_until(ProgramQueue& queue, uint64_t end) {
  std::lock_guard lock(queue.stamping);
  for (; queue.next_unstamped < end; ++queue.next_unstamped) queue.unstamped.insert(queue.next_unstamped);
  // ROCr may have submitted some of the packets itself; those have already been handled.
  const uint64_t done = original().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
  std::erase_if(queue.unstamped, [&](uint64_t index) { return index < done || stamp(queue, index); });
  return queue.unstamped.empty() ? queue.next_unstamped : *queue.unstamped.begin();
}

}  // namespace

bool ring_doorbell(hsa_signal_t signal, hsa_signal_value_t value, void (*store)(hsa_signal_t, hsa_signal_value_t)) {
  const auto queue = queue_registry().by_doorbell(signal);
  if (!queue) return false;
  const uint64_t end = stamp_until(*queue, static_cast<uint64_t>(value) + 1);
  store(signal, value);
  if (const auto hardware = queue->hardware.lock()) {
    if (queue->intercepted) hardware->wake();
    else hardware->release_until(end);
  }
  return true;
}

void hook_queues(CoreApiTable& core, AmdExtTable& amd) {
  core.hsa_queue_create_fn = queue_create;
  core.hsa_queue_destroy_fn = queue_destroy;
  amd.hsa_amd_queue_intercept_create_fn = queue_intercept_create;
  amd.hsa_amd_queue_set_priority_fn = set_priority;
  amd.hsa_amd_queue_cu_set_mask_fn = set_mask;
  amd.hsa_amd_queue_cu_get_mask_fn = get_mask;
}

}  // namespace rpd
