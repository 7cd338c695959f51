#include "runtime/queues/aql_queue.h"

#include <hsa/amd_hsa_queue.h>

#include <algorithm>
#include <cstddef>

#include "runtime/device.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/memory_declarations.h"
#include "runtime/queues/barrier_packets.h"
#include "runtime/queues/queue_error.h"
#include "runtime/queues/vendor_packets.h"
#include "runtime/reports/check_findings.h"
#include "runtime/reports/dispatch_records.h"
#include "runtime/reports/kernel_names.h"
#include "runtime/reports/log.h"
#include "runtime/reports/memory_fault.h"
#include "runtime/virtual_clock.h"
#include "timing/parameters.h"

namespace rpd {

using namespace std::chrono_literals;

namespace {

int64_t queue_error_of(DispatchError error) {
  switch (error) {
    case DispatchError::InvalidCode: return queue_error::kInvalidCode;
    case DispatchError::InvalidDimension: return queue_error::kInvalidDimension;
    case DispatchError::WorkgroupTooLarge: return queue_error::kGroupTooLarge;
    case DispatchError::TooMuchGroupMemory: return queue_error::kInvalidGroupMemory;
    case DispatchError::TooManyRegisters: return queue_error::kOutOfRegisters;
    case DispatchError::ApertureViolation: return queue_error::kApertureViolation;
    case DispatchError::Exception: return queue_error::kException;
    default: return queue_error::kIllegalInstruction;
  }
}

}  // namespace

AqlQueue::AqlQueue(Device& device, const model::QueueInfo& info) : Queue(device, info) {
  next_ = *device.memory().at<uint64_t>(info.read_pointer_address);
}

uint64_t AqlQueue::queue_address() const { return info_.write_pointer_address - offsetof(amd_queue_v2_t, write_dispatch_id); }

void AqlQueue::release_until(uint64_t end) {
  uint64_t before = released_end_.load(std::memory_order_relaxed);
  while (before < end && !released_end_.compare_exchange_weak(before, end, std::memory_order_release)) {
  }
  wake();
}

uint16_t* AqlQueue::header_of(uint64_t index) const {
  const uint64_t slot = index % (info_.ring_size / kAqlPacketBytes);
  return device_.memory().at<uint16_t>(info_.ring_base_address + slot * kAqlPacketBytes);
}

bool AqlQueue::is_submitted(uint64_t index) {
  const auto* write_pointer = device_.memory().at<uint64_t>(info_.write_pointer_address);
  if (index >= __atomic_load_n(write_pointer, __ATOMIC_ACQUIRE)) return false;
  const uint16_t header = __atomic_load_n(header_of(index), __ATOMIC_ACQUIRE);
  if (packet_type(header) == HSA_PACKET_TYPE_INVALID) return false;
  if (!requires_release_.load(std::memory_order_acquire)) return true;
  if (index < released_end_.load(std::memory_order_acquire)) return true;

  // A complete packet that has not been released is nevertheless served after a while. The submitting thread may not have rung
  // the doorbell yet (at worst because it has been preempted), or ROCr itself may have submitted the packet to the program's
  // queue, in which case the hooks never see the doorbell.
  constexpr auto kPatience = 100ms;
  const auto now = std::chrono::steady_clock::now();
  if (held_index_ != index) {
    held_index_ = index;
    held_since_ = now;
  }
  return now - held_since_ > kPatience;
}

bool AqlQueue::is_about_to_serve(uint64_t time) const {
  if (!can_make_progress() || entry_.state != EngineScheduler::Entry::State::Absent) return false;
  const uint64_t index = __atomic_load_n(device_.memory().at<uint64_t>(info_.read_pointer_address), __ATOMIC_ACQUIRE);
  if (requires_release_.load(std::memory_order_acquire) && index >= released_end_.load(std::memory_order_acquire)) return false;
  if (packet_type(__atomic_load_n(header_of(index), __ATOMIC_ACQUIRE)) == HSA_PACKET_TYPE_INVALID) return false;
  return copy_of(index).submit_time() < time;
}

AqlPacket AqlQueue::copy_of(uint64_t index) const {
  AqlPacket packet;
  std::memcpy(packet.bytes, header_of(index), sizeof packet.bytes);
  return packet;
}

void AqlQueue::free_slot() {
  __atomic_store_n(header_of(next_), uint16_t{HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE}, __ATOMIC_RELEASE);
  ++next_;
  __atomic_store_n(device_.memory().at<uint64_t>(info_.read_pointer_address), next_, __ATOMIC_RELEASE);
}

bool AqlQueue::serve_packets() {
  bool served = false;
  while (!stopping() && !failed_ && is_submitted(next_)) {
    process(copy_of(next_));
    served = true;
  }
  return served;
}

void AqlQueue::process(const AqlPacket& packet) {
  expect_hooks();
  const uint8_t type = packet_type(packet.header());
  log_line("queue 0x%lx packet %lu: type %u, signal 0x%lx, submitted at %lu ns", ring_address(), next_, type,
           packet.completion_signal(), packet.submit_time());
  writable_memory().mark_as_completion_signal(packet.completion_signal());
  switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH: return process_dispatch(packet);
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR: return process_barrier(packet);
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC: return process_vendor(packet);
    default: fail("AQL packet of unsupported type " + std::to_string(type), queue_error::kInvalidPacket);
  }
}

uint64_t AqlQueue::ready_time(const AqlPacket& packet) const {
  const uint64_t in_queue = has_barrier_bit(packet.header()) ? latest_end_ : earliest_start_;
  return std::max(packet.submit_time(), in_queue);
}

void AqlQueue::process_dispatch(const AqlPacket& packet) {
  const auto dispatch = packet.as<hsa_kernel_dispatch_packet_t>();
  const int dimensions = dispatch.setup & 3;
  DispatchRequest request{};
  request.kernel_object = dispatch.kernel_object;
  request.kernarg_address = reinterpret_cast<uint64_t>(dispatch.kernarg_address);
  request.packet_address = info_.ring_base_address + next_ % (info_.ring_size / kAqlPacketBytes) * kAqlPacketBytes;
  request.queue_address = queue_address();
  request.completion_signal = packet.completion_signal();
  request.ring_address = info_.ring_base_address;
  request.ring_bytes = info_.ring_size;
  request.grid[0] = dispatch.grid_size_x;
  request.grid[1] = dimensions >= 2 ? dispatch.grid_size_y : 1;
  request.grid[2] = dimensions >= 3 ? dispatch.grid_size_z : 1;
  request.workgroup[0] = dispatch.workgroup_size_x;
  request.workgroup[1] = dimensions >= 2 ? dispatch.workgroup_size_y : 1;
  request.workgroup[2] = dimensions >= 3 ? dispatch.workgroup_size_z : 1;
  request.group_segment_size = dispatch.group_segment_size;
  request.private_segment_size = dispatch.private_segment_size;
  request.releases = writes_back(dispatch.header);

  if (dispatch.kernel_object == 0) return fail("kernel dispatch without a kernel object", queue_error::kInvalidCode);
  for (int axis = 0; axis < 3; ++axis)
    if (request.grid[axis] == 0 || request.workgroup[axis] == 0)
      return fail("kernel dispatch with an empty grid or workgroup", queue_error::kInvalidDimension);

  const uint64_t start = ready_time(packet) + dispatch_gap_ns();
  DispatchResult result = device_.run(request, start, *this, packet.submit_time());
  if (stopping()) return;
  if (!result.error.empty()) return fail_dispatch(kernel_name(dispatch.kernel_object), result);

  const uint64_t end = start + result.duration_ns;
  if (registers_.counts) device_.pm4_commands().count(result.counters);
  dispatch_records().add(packet.completion_signal(),
                         {virtual_clock::to_timestamp(start), virtual_clock::to_timestamp(end), std::move(result.counters),
                          std::move(result.counter_errors), result.duration_error});
  complete_at(packet, start, end);
}

void AqlQueue::process_barrier(const AqlPacket& packet) {
  const auto barrier = packet.as<hsa_barrier_and_packet_t>();  // barrier-OR has the same layout
  const bool all = packet_type(barrier.header) == HSA_PACKET_TYPE_BARRIER_AND;
  const BarrierCondition dependencies(device_.memory(), barrier.dep_signal, all);
  if (!wait_until([&] { return dependencies.satisfied(); })) return;
  const uint64_t time = std::max(ready_time(packet), dependencies.satisfied_at());
  earliest_start_ = std::max(earliest_start_, time);  // a barrier packet holds back all packets that follow
  complete_at(packet, time, time);
}

void AqlQueue::process_vendor(const AqlPacket& packet) {
  uint64_t time = ready_time(packet);
  switch (packet.vendor_format()) {
    case kVendorPm4Ib:
      if (const std::string error = device_.run_commands(packet.as<Pm4IbPacket>(), registers_); !error.empty())
        return fail(error, queue_error::kInvalidVendorPacket);
      break;
    case kVendorBarrierValue: {
      const ValueCondition condition(device_.memory(), packet.as<hsa_amd_barrier_value_packet_t>());
      if (!wait_until([&] { return condition.satisfied(); })) return;
      time = std::max(time, condition.satisfied_at());
      earliest_start_ = std::max(earliest_start_, time);
      break;
    }
    default:
      return fail("vendor-specific AQL packet of unknown format " + std::to_string(packet.vendor_format()),
                  queue_error::kInvalidVendorPacket);
  }
  complete_at(packet, time, time);
}

void AqlQueue::complete_at(const AqlPacket& packet, uint64_t start, uint64_t end) {
  earliest_start_ = std::max(earliest_start_, start);
  latest_end_ = std::max(latest_end_, end);
  // The slot must be freed before the signal is completed: whoever sees that all packets are complete may destroy the queue.
  free_slot();
  device_.complete(packet.completion_signal(), start, end);
}

void AqlQueue::fail_dispatch(const std::string& kernel, const DispatchResult& result) {
  const std::string reason = kernel + ": " + result.error;
  report_kernel_failure(reason);
  if (!result.foreign_access.empty()) report_foreign_access(result.foreign_access);
  if (result.error_kind != DispatchError::MemoryFault) return fail(reason, queue_error_of(result.error_kind));
  failed_ = true;
  give_up();
  report_memory_fault(reason, result.fault_address, device_.node());
}

void AqlQueue::fail(const std::string& reason, int64_t error_code) {
  failed_ = true;
  give_up();
  report_queue_error(device_, *this, reason, error_code);
}

}  // namespace rpd
