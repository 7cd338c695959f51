#include "runtime/queues/queue_error.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdlib>
#include <thread>

#include "runtime/device.h"
#include "runtime/queues/aql_queue.h"
#include "runtime/queues/event_count.h"
#include "runtime/queues/queue_registry.h"
#include "runtime/reports/log.h"

namespace rpd {
namespace {

hsa_status_t status_of(int64_t error_code) {
  switch (error_code) {
    case queue_error::kInvalidDimension: return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    case queue_error::kInvalidGroupMemory: return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    case queue_error::kGroupTooLarge: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    case queue_error::kOutOfRegisters: return static_cast<hsa_status_t>(HSA_STATUS_ERROR_OUT_OF_REGISTERS);
    case queue_error::kApertureViolation: return static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    case queue_error::kException: return HSA_STATUS_ERROR_EXCEPTION;
    case queue_error::kInvalidCode: return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    case queue_error::kIllegalInstruction: return static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
    default: return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
  }
}

void leave_to_rocr(Device& device, const AqlQueue& queue, int64_t error_code) {
  const auto* amd_queue = device.memory().at<amd_queue_v2_t>(queue.queue_address());
  auto* signal = device.memory().at<amd_signal_t>(amd_queue->queue_inactive_signal.handle);
  __atomic_store_n(&signal->value, error_code, __ATOMIC_RELEASE);
  signal_changes().announce();
  device.wakeups().raise(signal->event_id);
}

}  // namespace

void report_queue_error(Device& device, AqlQueue& queue, const std::string& reason, int64_t error_code) {
  report_error("%s", reason.c_str());
  const auto program_queue = queue_registry().by_hardware(&queue);
  if (!program_queue) return leave_to_rocr(device, queue, error_code);
  if (!program_queue->error_callback) {
    report_error("the program gave its queue no error callback and would wait forever: aborting");
    std::abort();
  }
  // The callback is called on a separate thread, as in ROCr: it may destroy the queue, which waits for the current thread.
  std::thread([program_queue, status = status_of(error_code)] {
    program_queue->error_callback(status, program_queue->queue, program_queue->error_data);
  }).detach();
}

}  // namespace rpd
