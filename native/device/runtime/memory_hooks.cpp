// What the program allocates, as it asked for it: messages about faults name the nearest allocation. And who wants to
// know of faults.
#include "runtime/device.h"
#include "runtime/hooks.h"
#include "runtime/memory_fault.h"

namespace rpd {
namespace {

hsa_status_t allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** address) {
  const hsa_status_t status = original().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, address);
  if (status != HSA_STATUS_SUCCESS) return status;
  for (Device* device : devices()) device->allocations().name(reinterpret_cast<uint64_t>(*address), size);
  return status;
}

hsa_status_t release(void* address) {
  for (Device* device : devices()) device->allocations().forget_name(reinterpret_cast<uint64_t>(address));
  return original().amd.hsa_amd_memory_pool_free_fn(address);
}

hsa_status_t register_handler(hsa_amd_system_event_callback_t handler, void* data) {
  const hsa_status_t status = original().amd.hsa_amd_register_system_event_handler_fn(handler, data);
  if (status == HSA_STATUS_SUCCESS) add_system_event_handler(handler, data);
  return status;
}

}  // namespace

void hook_memory(AmdExtTable& amd) {
  amd.hsa_amd_memory_pool_allocate_fn = allocate;
  amd.hsa_amd_memory_pool_free_fn = release;
  amd.hsa_amd_register_system_event_handler_fn = register_handler;
}

}  // namespace rpd
