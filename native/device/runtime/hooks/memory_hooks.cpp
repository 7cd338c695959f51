// Records the program's allocations as it requested them, so that fault messages can name the nearest allocation and a kernel
// can be confined to its program's memory. Also records the program's fault handlers.
#include <mutex>
#include <unordered_map>

#include "runtime/device.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/memory_declarations.h"
#include "runtime/reports/memory_fault.h"

namespace rpd {
namespace {

constexpr char kArguments[] = "memory of kernel arguments";

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

hsa_status_t grant(hsa_status_t status, const void* address, size_t size) {
  if (status == HSA_STATUS_SUCCESS) writable_memory().add(number(address), size);
  return status;
}

void revoke(const void* address) { writable_memory().remove(number(address)), writable_memory().unprotect(number(address)); }

void name_allocation(const void* address, size_t size) {
  for (Device* device : devices()) device->allocations().name(number(address), size);
}

void forget_allocation(const void* address) {
  for (Device* device : devices()) device->allocations().forget_name(number(address));
  revoke(address);
}

bool is_for_arguments(hsa_amd_memory_pool_t pool) {
  uint32_t flags = 0;
  original().amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  return flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
}

hsa_status_t allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** address) {
  const hsa_status_t status = original().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, address);
  if (status != HSA_STATUS_SUCCESS) return status;
  name_allocation(*address, size);
  if (is_for_arguments(pool)) writable_memory().protect(number(*address), size, kArguments);
  else writable_memory().add(number(*address), size);
  return status;
}

hsa_status_t release(void* address) {
  forget_allocation(address);
  return original().amd.hsa_amd_memory_pool_free_fn(address);
}

// In ROCr, the handle of a region is also the handle of a pool.
hsa_status_t allocate_region(hsa_region_t region, size_t size, void** address) {
  const hsa_status_t status = original().core.hsa_memory_allocate_fn(region, size, address);
  if (status != HSA_STATUS_SUCCESS) return status;
  name_allocation(*address, size);
  if (is_for_arguments({region.handle})) writable_memory().protect(number(*address), size, kArguments);
  else writable_memory().add(number(*address), size);
  return status;
}

hsa_status_t release_region(void* address) {
  forget_allocation(address);
  return original().core.hsa_memory_free_fn(address);
}

// ---- host memory ----

struct Locks {
  std::mutex mutex;
  std::unordered_map<const void*, const void*> agent_address;  // by host address
};

Locks& locks() {
  static auto* locks = new Locks;
  return *locks;
}

hsa_status_t record_lock(hsa_status_t status, const void* host, size_t size, const void* address) {
  if (grant(status, address, size) != HSA_STATUS_SUCCESS) return status;
  const std::lock_guard lock(locks().mutex);
  locks().agent_address[host] = address;
  return status;
}

hsa_status_t lock(void* host, size_t size, hsa_agent_t* agents, int count, void** address) {
  const hsa_status_t status = original().amd.hsa_amd_memory_lock_fn(host, size, agents, count, address);
  return status == HSA_STATUS_SUCCESS ? record_lock(status, host, size, *address) : status;
}

hsa_status_t lock_to_pool(void* host, size_t size, hsa_agent_t* agents, int count, hsa_amd_memory_pool_t pool, uint32_t flags,
                          void** address) {
  const hsa_status_t status = original().amd.hsa_amd_memory_lock_to_pool_fn(host, size, agents, count, pool, flags, address);
  return status == HSA_STATUS_SUCCESS ? record_lock(status, host, size, *address) : status;
}

hsa_status_t unlock(void* host) {
  {
    const std::lock_guard lock(locks().mutex);
    if (const auto node = locks().agent_address.extract(host)) revoke(node.mapped());
  }
  return original().amd.hsa_amd_memory_unlock_fn(host);
}

// ---- graphics buffers ----

hsa_status_t map_buffer(uint32_t count, hsa_agent_t* agents, int handle, uint32_t flags, size_t* size, void** address,
                        size_t* metadata_size, const void** metadata) {
  const hsa_status_t status =
      original().amd.hsa_amd_interop_map_buffer_fn(count, agents, handle, flags, size, address, metadata_size, metadata);
  return status == HSA_STATUS_SUCCESS ? grant(status, *address, *size) : status;
}

hsa_status_t unmap_buffer(void* address) {
  revoke(address);
  return original().amd.hsa_amd_interop_unmap_buffer_fn(address);
}

hsa_status_t register_handler(hsa_amd_system_event_callback_t handler, void* data) {
  const hsa_status_t status = original().amd.hsa_amd_register_system_event_handler_fn(handler, data);
  if (status == HSA_STATUS_SUCCESS) add_system_event_handler(handler, data);
  return status;
}

}  // namespace

void hook_memory(CoreApiTable& core, AmdExtTable& amd) {
  core.hsa_memory_allocate_fn = allocate_region;
  core.hsa_memory_free_fn = release_region;
  amd.hsa_amd_memory_pool_allocate_fn = allocate;
  amd.hsa_amd_memory_pool_free_fn = release;
  amd.hsa_amd_memory_lock_fn = lock;
  amd.hsa_amd_memory_lock_to_pool_fn = lock_to_pool;
  amd.hsa_amd_memory_unlock_fn = unlock;
  amd.hsa_amd_interop_map_buffer_fn = map_buffer;
  amd.hsa_amd_interop_unmap_buffer_fn = unmap_buffer;
  amd.hsa_amd_register_system_event_handler_fn = register_handler;
}

}  // namespace rpd
