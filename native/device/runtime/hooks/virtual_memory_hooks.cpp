// Virtual memory that programs manage themselves: they reserve addresses, create memory and map it at those addresses.
//
// ROCr uses the graphics half of the kernel driver for this, which the thunk's model does not have. Here each allocation is
// backed by an anonymous file. This process maps it at the reserved addresses, where the device accesses it like host memory.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

#include "runtime/device.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/memory_declarations.h"

namespace rpd {
namespace {

constexpr size_t kPage = 4096;

struct Memory {
  int file = -1;
  size_t size = 0;
  hsa_amd_memory_pool_t pool{};
  hsa_amd_memory_type_t type = MEMORY_TYPE_NONE;
  uint32_t handles = 1;
  Memory(int of_file, size_t bytes) : file(of_file), size(bytes) {}
  Memory(const Memory&) = delete;
  ~Memory() { close(file); }
};

struct Mapping {
  size_t size;
  std::shared_ptr<Memory> memory;
  std::map<uint64_t, hsa_access_permission_t> access;  // by agent
};

struct State {
  std::mutex mutex;
  std::map<uint64_t, size_t> reserved;                  // size by address
  std::map<uint64_t, std::shared_ptr<Memory>> memories;  // by handle
  std::map<uint64_t, Mapping> mapped;                    // by address
  uint64_t next_handle = 1;
};

State& state() {
  static auto* all = new State;
  return *all;
}

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }
void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

hsa_amd_vmem_alloc_handle_t keep(std::shared_ptr<Memory> memory) {
  const uint64_t handle = state().next_handle++;
  state().memories[handle] = std::move(memory);
  return {handle};
}

std::shared_ptr<Memory> memory_of(hsa_amd_vmem_alloc_handle_t handle) {
  const auto entry = state().memories.find(handle.handle);
  return entry == state().memories.end() ? nullptr : entry->second;
}

size_t whole_pages(size_t size) { return (size + kPage - 1) & ~(kPage - 1); }

// ---- addresses ----

hsa_status_t reserve_aligned(void** address, size_t size, uint64_t wanted, uint64_t alignment, uint64_t flags) {
  if (alignment == 0) alignment = kPage;
  size = whole_pages(size);  // for managed memory, HIP passes the program's size unrounded
  if (!address || size == 0 || alignment % kPage || (alignment & (alignment - 1))) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const size_t with_slack = size + alignment - kPage;
  // Addresses that are not registered with the driver are for managed memory: host pages, allocated when they are touched.
  const bool managed = flags & HSA_AMD_VMEM_ADDRESS_NO_REGISTER;
  const int rights = managed ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* mapping = mmap(pointer(wanted), with_slack, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const uint64_t begin = (number(mapping) + alignment - 1) & ~(alignment - 1), end = number(mapping) + with_slack;
  if (begin > number(mapping)) munmap(mapping, begin - number(mapping));
  if (end > begin + size) munmap(pointer(begin + size), end - begin - size);
  *address = pointer(begin);
  const std::lock_guard lock(state().mutex);
  state().reserved[begin] = size;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t reserve(void** address, size_t size, uint64_t wanted, uint64_t flags) {
  return reserve_aligned(address, size, wanted, 0, flags);
}

bool is_reserved(uint64_t address, size_t size) {
  const auto next = state().reserved.upper_bound(address);
  if (next == state().reserved.begin()) return false;
  const auto& [begin, bytes] = *std::prev(next);
  return address - begin < bytes && size <= bytes - (address - begin);
}

bool any_mapped(uint64_t address, size_t size) {
  const auto next = state().mapped.lower_bound(address + size);
  return next != state().mapped.begin() && std::prev(next)->first + std::prev(next)->second.size > address;
}

hsa_status_t free_addresses(void* address, size_t size) {
  const std::lock_guard lock(state().mutex);
  const auto reservation = state().reserved.find(number(address));
  if (reservation == state().reserved.end() || reservation->second != whole_pages(size))
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (any_mapped(number(address), size)) return HSA_STATUS_ERROR_RESOURCE_FREE;
  munmap(address, reservation->second);
  writable_memory().remove(number(address));
  for (Device* device : devices()) device->allocations().forget_host_ranges();
  state().reserved.erase(reservation);
  return HSA_STATUS_SUCCESS;
}

// ---- memory ----

hsa_status_t create(hsa_amd_memory_pool_t pool, size_t size, hsa_amd_memory_type_t type, uint64_t,
                    hsa_amd_vmem_alloc_handle_t* handle) {
  if (!handle || size == 0 || size % kPage) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  size_t limit = 0;
  if (original().amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, &limit) ==
          HSA_STATUS_SUCCESS &&
      size > limit)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const int file = memfd_create("rocm-perf-memory", MFD_CLOEXEC);
  if (file < 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  auto memory = std::make_shared<Memory>(file, size);
  memory->pool = pool;
  memory->type = type;
  if (ftruncate(file, static_cast<off_t>(size)) != 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const std::lock_guard lock(state().mutex);
  *handle = keep(std::move(memory));
  return HSA_STATUS_SUCCESS;
}

// A mapping remains until it is unmapped, even if no handles to its memory are left.
hsa_status_t release(hsa_amd_vmem_alloc_handle_t handle) {
  const std::lock_guard lock(state().mutex);
  const auto entry = state().memories.find(handle.handle);
  if (entry == state().memories.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (--entry->second->handles == 0) state().memories.erase(entry);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t retain(hsa_amd_vmem_alloc_handle_t* handle, void* address) {
  const std::lock_guard lock(state().mutex);
  const auto next = state().mapped.upper_bound(number(address));
  if (!handle || next == state().mapped.begin()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  const auto& [begin, mapping] = *std::prev(next);
  if (number(address) - begin >= mapping.size) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  for (const auto& [other, memory] : state().memories) {
    if (memory != mapping.memory) continue;
    ++memory->handles;
    *handle = {other};
    return HSA_STATUS_SUCCESS;
  }
  mapping.memory->handles = 1;
  *handle = keep(mapping.memory);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t properties(hsa_amd_vmem_alloc_handle_t handle, hsa_amd_memory_pool_t* pool, hsa_amd_memory_type_t* type) {
  const std::lock_guard lock(state().mutex);
  const auto memory = memory_of(handle);
  if (!memory) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (pool) *pool = memory->pool;
  if (type) *type = memory->type;
  return HSA_STATUS_SUCCESS;
}

// ---- mappings ----

bool is_device_memory(hsa_amd_memory_pool_t pool) {
  uint32_t location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  original().amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_LOCATION, &location);
  return location == HSA_AMD_MEMORY_POOL_LOCATION_GPU;
}

struct PoolSearch {
  hsa_amd_memory_pool_t pool;
  hsa_agent_t agent{};  // the agent being searched
  bool found = false;
};

hsa_status_t is_pool(hsa_amd_memory_pool_t pool, void* data) {
  auto* search = static_cast<PoolSearch*>(data);
  search->found = pool.handle == search->pool.handle;
  return search->found ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
}

hsa_status_t has_pool(hsa_agent_t agent, void* data) {
  auto* search = static_cast<PoolSearch*>(data);
  search->agent = agent;
  original().amd.hsa_amd_agent_iterate_memory_pools_fn(agent, is_pool, data);
  return search->found ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
}

Owner owner_of(hsa_amd_memory_pool_t pool) {
  if (!is_device_memory(pool)) return kHost;
  PoolSearch search{pool};
  original().core.hsa_iterate_agents_fn(has_pool, &search);
  uint32_t node = 0;
  constexpr auto kNode = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
  if (search.found) original().core.hsa_agent_get_info_fn(search.agent, kNode, &node);
  const Device* const device = device_of_node(node);
  return device ? device->number() : Owner{0};
}

hsa_status_t map(void* address, size_t size, size_t offset, hsa_amd_vmem_alloc_handle_t handle, uint64_t) {
  const std::lock_guard lock(state().mutex);
  const auto memory = memory_of(handle);
  if (!memory) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (size == 0 || size % kPage || offset % kPage || offset > memory->size || size > memory->size - offset)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!is_reserved(number(address), size) || any_mapped(number(address), size)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (mmap(address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, static_cast<off_t>(offset)) == MAP_FAILED)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  state().mapped[number(address)] = {size, memory, {}};
  for (Device* device : devices()) {
    device->allocations().add(number(address), size, owner_of(memory->pool));
    device->allocations().name(number(address), size);
  }
  writable_memory().add(number(address), size);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t unmap(void* address, size_t size) {
  const std::lock_guard lock(state().mutex);
  const auto mapping = state().mapped.find(number(address));
  if (mapping == state().mapped.end() || mapping->second.size != size) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  writable_memory().remove(number(address));
  mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  for (Device* device : devices()) {
    device->allocations().forget_name(number(address));
    device->allocations().forget_host_ranges();
    device->memory_freed(number(address), size);
  }
  state().mapped.erase(mapping);
  return HSA_STATUS_SUCCESS;
}

// The rights that at least one agent has: memory that one agent may access is accessible to all agents, as it is through the
// large BAR of a real device.
int rights(const Mapping& mapping) {
  int all = PROT_NONE;
  for (const auto& [agent, access] : mapping.access) {
    if (access & HSA_ACCESS_PERMISSION_RO) all |= PROT_READ;
    if (access & HSA_ACCESS_PERMISSION_WO) all |= PROT_READ | PROT_WRITE;
  }
  return all;
}

hsa_status_t set_access(void* address, size_t size, const hsa_amd_memory_access_desc_t* wanted, size_t count) {
  const std::lock_guard lock(state().mutex);
  uint64_t next = number(address);
  const uint64_t end = next + size;
  for (auto part = state().mapped.find(next); next < end; ++part) {
    if (part == state().mapped.end() || part->first != next) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    next += part->second.size;
  }
  if (next != end) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  for (auto part = state().mapped.find(number(address)); part != state().mapped.end() && part->first < end; ++part) {
    for (size_t i = 0; i < count; ++i) part->second.access[wanted[i].agent_handle.handle] = wanted[i].permissions;
    mprotect(pointer(part->first), part->second.size, rights(part->second));
  }
  for (Device* device : devices()) device->allocations().forget_host_ranges();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t get_access(void* address, hsa_access_permission_t* access, hsa_agent_t agent) {
  const std::lock_guard lock(state().mutex);
  const auto next = state().mapped.upper_bound(number(address));
  if (!access || next == state().mapped.begin()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  const auto& [begin, mapping] = *std::prev(next);
  if (number(address) - begin >= mapping.size) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  const auto entry = mapping.access.find(agent.handle);
  *access = entry == mapping.access.end() ? HSA_ACCESS_PERMISSION_NONE : entry->second;
  return HSA_STATUS_SUCCESS;
}

// ---- sharing with other processes, by passing them the file itself ----

hsa_status_t export_handle(int* file, hsa_amd_vmem_alloc_handle_t handle, uint64_t) {
  const std::lock_guard lock(state().mutex);
  const auto memory = memory_of(handle);
  if (!memory || !file) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  *file = dup(memory->file);
  return *file < 0 ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

hsa_status_t take_device_pool(hsa_amd_memory_pool_t pool, void* result) {
  if (!is_device_memory(pool)) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(result) = pool;
  return HSA_STATUS_INFO_BREAK;
}

hsa_status_t pool_of_agent(hsa_agent_t agent, void* result) {
  return original().amd.hsa_amd_agent_iterate_memory_pools_fn(agent, take_device_pool, result);
}

hsa_status_t import_handle(int file, hsa_amd_vmem_alloc_handle_t* handle) {
  struct stat facts{};
  if (!handle || fstat(file, &facts) != 0 || facts.st_size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const int own = dup(file);
  if (own < 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  auto memory = std::make_shared<Memory>(own, static_cast<size_t>(facts.st_size));
  original().core.hsa_iterate_agents_fn(pool_of_agent, &memory->pool);
  const std::lock_guard lock(state().mutex);
  *handle = keep(std::move(memory));
  return HSA_STATUS_SUCCESS;
}

}  // namespace

void hook_virtual_memory(AmdExtTable& amd) {
  amd.hsa_amd_vmem_address_reserve_fn = reserve;
  amd.hsa_amd_vmem_address_reserve_align_fn = reserve_aligned;
  amd.hsa_amd_vmem_address_free_fn = free_addresses;
  amd.hsa_amd_vmem_handle_create_fn = create;
  amd.hsa_amd_vmem_handle_release_fn = release;
  amd.hsa_amd_vmem_retain_alloc_handle_fn = retain;
  amd.hsa_amd_vmem_get_alloc_properties_from_handle_fn = properties;
  amd.hsa_amd_vmem_map_fn = map;
  amd.hsa_amd_vmem_unmap_fn = unmap;
  amd.hsa_amd_vmem_set_access_fn = set_access;
  amd.hsa_amd_vmem_get_access_fn = get_access;
  amd.hsa_amd_vmem_export_shareable_handle_fn = export_handle;
  amd.hsa_amd_vmem_import_shareable_handle_fn = import_handle;
}

}  // namespace rpd
