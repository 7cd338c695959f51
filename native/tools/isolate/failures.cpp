#include "isolate/failures.h"

#include "isolate/submission_barrier.h"
#include "isolate/wrappers.h"

namespace rpd::isolate {

void QueueErrors::report(hsa_status_t status, hsa_queue_t* queue, void* self) {
  gpu_failed.store(true);
  the_submission_barrier().pass();
  const auto& errors = *static_cast<const QueueErrors*>(self);
  if (errors.program_callback != nullptr) errors.program_callback(status, queue, errors.data);
}

namespace {

struct EventHandler {
  hsa_amd_system_event_callback_t program_handler;
  void* data;
};

hsa_status_t on_event(const hsa_amd_event_t* event, void* self) {
  gpu_failed.store(true);
  the_submission_barrier().pass();
  const auto& handler = *static_cast<const EventHandler*>(self);
  return handler.program_handler(event, handler.data);
}

// Memory faults are reported through this handler. If the program has no handler of its own, ROCr aborts it, as usual.
hsa_status_t register_handler(hsa_amd_system_event_callback_t program_handler, void* data) {
  if (program_handler == nullptr) return hsa.amd.hsa_amd_register_system_event_handler_fn(program_handler, data);
  return hsa.amd.hsa_amd_register_system_event_handler_fn(on_event, new EventHandler{program_handler, data});
}

}  // namespace

void wrap_failures(HsaApiTable* table) { table->amd_ext_->hsa_amd_register_system_event_handler_fn = register_handler; }

}  // namespace rpd::isolate
