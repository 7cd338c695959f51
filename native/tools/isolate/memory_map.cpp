#include "isolate/memory_map.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <unordered_map>

#include "isolate/submission_barrier.h"
#include "isolate/wrappers.h"

namespace rpd::isolate {

using capture::Kind;

MemoryMap& memory_map() {
  static MemoryMap& map = *new MemoryMap;  // the program's threads may outlive static destructors
  return map;
}

void MemoryMap::add(uint64_t address, uint64_t bytes, Kind kind, hsa_agent_t agent) {
  const std::lock_guard lock(mutex_);
  if (address != 0 && bytes != 0) entries_[address] = {bytes, kind, agent};
}

void MemoryMap::remove(uint64_t address) {
  const std::lock_guard lock(mutex_);
  entries_.erase(address);
}

void MemoryMap::add_foreign(uint64_t address, const std::string& description) {
  const std::lock_guard lock(mutex_);
  foreign_[address] = description;
}

void MemoryMap::remove_foreign(uint64_t address) {
  const std::lock_guard lock(mutex_);
  foreign_.erase(address);
}

std::vector<std::string> MemoryMap::foreign() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (const auto& [address, description] : foreign_) list.push_back(description);
  return list;
}

std::vector<Source> MemoryMap::regions(const std::vector<Source>& code) const {
  std::vector<Source> sources = code;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, entry] : entries_) {
      capture::Region region;
      region.base = address & ~(capture::kPage - 1);
      region.bytes = ((address + entry.bytes + capture::kPage - 1) & ~(capture::kPage - 1)) - region.base;
      region.kind = entry.kind;
      region.allocations = {{address, entry.bytes}};
      sources.push_back({std::move(region), entry.agent});
    }
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.region.base < b.region.base; });
  std::vector<Source> merged;
  for (Source& source : sources) {
    if (merged.empty() || source.region.base >= merged.back().region.end()) {
      merged.push_back(std::move(source));
      continue;
    }
    capture::Region& last = merged.back().region;
    last.bytes = std::max(last.end(), source.region.end()) - last.base;
    last.allocations.insert(last.allocations.end(), source.region.allocations.begin(), source.region.allocations.end());
  }
  return merged;
}

bool is_readable(uint64_t address, uint64_t bytes) {
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return false;
  uint64_t begin = 0, end = 0, next = address;
  char rights[5];
  while (next < address + bytes && std::fscanf(file, "%" SCNx64 "-%" SCNx64 " %4s%*[^\n]", &begin, &end, rights) == 3) {
    if (end <= next) continue;
    if (begin > next || rights[0] != 'r') break;
    next = end;
  }
  std::fclose(file);
  return next >= address + bytes;
}

namespace {

struct PoolOwners {
  std::mutex mutex;
  std::unordered_map<uint64_t, hsa_agent_t> gpu_of_pool;
};

PoolOwners& owners() {
  static PoolOwners& owners = *new PoolOwners;
  return owners;
}

hsa_agent_t owner_of(uint64_t pool) {
  const std::lock_guard lock(owners().mutex);
  const auto entry = owners().gpu_of_pool.find(pool);
  return entry == owners().gpu_of_pool.end() ? hsa_agent_t{} : entry->second;
}

hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* agent) {
  owners().gpu_of_pool[pool.handle] = *static_cast<hsa_agent_t*>(agent);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type{};
  hsa.core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  return hsa.amd.hsa_amd_agent_iterate_memory_pools_fn(agent, on_pool, &agent);
}

void allocated(uint64_t pool, void* address, uint64_t bytes) {
  const hsa_agent_t owner = owner_of(pool);
  memory_map().add(reinterpret_cast<uint64_t>(address), bytes, owner.handle != 0 ? Kind::device : Kind::host, owner);
}

hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags, void** address) {
  const hsa_status_t status = hsa.amd.hsa_amd_memory_pool_allocate_fn(pool, bytes, flags, address);
  if (status == HSA_STATUS_SUCCESS) allocated(pool.handle, *address, bytes);
  return status;
}

hsa_status_t pool_free(void* address) {
  the_submission_barrier().pass();
  memory_map().remove(reinterpret_cast<uint64_t>(address));
  return hsa.amd.hsa_amd_memory_pool_free_fn(address);
}

hsa_status_t memory_allocate(hsa_region_t region, size_t bytes, void** address) {
  const hsa_status_t status = hsa.core.hsa_memory_allocate_fn(region, bytes, address);
  if (status == HSA_STATUS_SUCCESS) allocated(region.handle, *address, bytes);  // ROCr's regions are the same as its pools
  return status;
}

hsa_status_t memory_free(void* address) {
  the_submission_barrier().pass();
  memory_map().remove(reinterpret_cast<uint64_t>(address));
  return hsa.core.hsa_memory_free_fn(address);
}

struct Locks {
  std::mutex mutex;
  std::unordered_map<void*, void*> agent_address;  // by host address
};

Locks& locks() {
  static Locks& locks = *new Locks;
  return locks;
}

hsa_status_t locked(hsa_status_t status, void* host, size_t bytes, void** address) {
  if (status != HSA_STATUS_SUCCESS) return status;
  memory_map().add(reinterpret_cast<uint64_t>(*address), bytes, Kind::registered, {});
  const std::lock_guard lock(locks().mutex);
  locks().agent_address[host] = *address;
  return status;
}

hsa_status_t memory_lock(void* host, size_t bytes, hsa_agent_t* agents, int count, void** address) {
  return locked(hsa.amd.hsa_amd_memory_lock_fn(host, bytes, agents, count, address), host, bytes, address);
}

hsa_status_t memory_lock_to_pool(void* host, size_t bytes, hsa_agent_t* agents, int count, hsa_amd_memory_pool_t pool,
                                 uint32_t flags, void** address) {
  return locked(hsa.amd.hsa_amd_memory_lock_to_pool_fn(host, bytes, agents, count, pool, flags, address), host, bytes, address);
}

hsa_status_t memory_unlock(void* host) {
  the_submission_barrier().pass();
  {
    const std::lock_guard lock(locks().mutex);
    if (const auto entry = locks().agent_address.find(host); entry != locks().agent_address.end()) {
      memory_map().remove(reinterpret_cast<uint64_t>(entry->second));
      locks().agent_address.erase(entry);
    }
  }
  return hsa.amd.hsa_amd_memory_unlock_fn(host);
}

// HIP maps managed memory itself and informs ROCr only afterwards.
hsa_status_t svm_attributes_set(void* address, size_t bytes, hsa_amd_svm_attribute_pair_t* attributes, size_t count) {
  const hsa_status_t status = hsa.amd.hsa_amd_svm_attributes_set_fn(address, bytes, attributes, count);
  if (status == HSA_STATUS_SUCCESS) memory_map().add(reinterpret_cast<uint64_t>(address), bytes, Kind::managed, {});
  return status;
}

hsa_agent_t first_gpu() {
  const std::lock_guard lock(owners().mutex);
  return owners().gpu_of_pool.empty() ? hsa_agent_t{} : owners().gpu_of_pool.begin()->second;
}

hsa_status_t vmem_map(void* address, size_t bytes, size_t offset, hsa_amd_vmem_alloc_handle_t handle, uint64_t flags) {
  const hsa_status_t status = hsa.amd.hsa_amd_vmem_map_fn(address, bytes, offset, handle, flags);
  if (status != HSA_STATUS_SUCCESS) return status;
  hsa_amd_memory_pool_t pool{};
  hsa_amd_memory_type_t type{};
  hsa.amd.hsa_amd_vmem_get_alloc_properties_from_handle_fn(handle, &pool, &type);
  const hsa_agent_t owner = owner_of(pool.handle);
  memory_map().add(reinterpret_cast<uint64_t>(address), bytes, Kind::mapped, owner.handle != 0 ? owner : first_gpu());
  return status;
}

hsa_status_t vmem_unmap(void* address, size_t bytes) {
  the_submission_barrier().pass();
  memory_map().remove(reinterpret_cast<uint64_t>(address));
  return hsa.amd.hsa_amd_vmem_unmap_fn(address, bytes);
}

std::string described(const char* kind, const void* address, uint64_t bytes) {
  char text[128];
  std::snprintf(text, sizeof text, "%s at %p (%" PRIu64 " bytes)", kind, address, bytes);
  return text;
}

hsa_status_t ipc_attach(const hsa_amd_ipc_memory_t* handle, size_t bytes, uint32_t count, const hsa_agent_t* agents,
                        void** address) {
  const hsa_status_t status = hsa.amd.hsa_amd_ipc_memory_attach_fn(handle, bytes, count, agents, address);
  if (status == HSA_STATUS_SUCCESS)
    memory_map().add_foreign(reinterpret_cast<uint64_t>(*address),
                             described("memory of another process (IPC)", *address, bytes));
  return status;
}

hsa_status_t ipc_detach(void* address) {
  the_submission_barrier().pass();
  memory_map().remove_foreign(reinterpret_cast<uint64_t>(address));
  return hsa.amd.hsa_amd_ipc_memory_detach_fn(address);
}

hsa_status_t interop_map(uint32_t count, hsa_agent_t* agents, int handle, uint32_t flags, size_t* bytes, void** address,
                         size_t* metadata_bytes, const void** metadata) {
  const hsa_status_t status =
      hsa.amd.hsa_amd_interop_map_buffer_fn(count, agents, handle, flags, bytes, address, metadata_bytes, metadata);
  if (status == HSA_STATUS_SUCCESS)
    memory_map().add_foreign(reinterpret_cast<uint64_t>(*address), described("a graphics buffer", *address, *bytes));
  return status;
}

hsa_status_t interop_unmap(void* address) {
  memory_map().remove_foreign(reinterpret_cast<uint64_t>(address));
  return hsa.amd.hsa_amd_interop_unmap_buffer_fn(address);
}

// Images are not captured: an image's descriptor is in the kernel's arguments, but the layout of its texels in memory depends
// on the GPU.
hsa_status_t image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, const void* data,
                          hsa_access_permission_t access, hsa_ext_image_t* image) {
  const hsa_status_t status = hsa.image.hsa_ext_image_create_fn(agent, descriptor, data, access, image);
  if (status == HSA_STATUS_SUCCESS) memory_map().add_foreign(image->handle, described("an image over memory", data, 0));
  return status;
}

hsa_status_t image_destroy(hsa_agent_t agent, hsa_ext_image_t image) {
  memory_map().remove_foreign(image.handle);
  return hsa.image.hsa_ext_image_destroy_fn(agent, image);
}

}  // namespace

void wrap_memory(HsaApiTable* table) {
  hsa.core.hsa_iterate_agents_fn(on_agent, nullptr);
  table->core_->hsa_memory_allocate_fn = memory_allocate;
  table->core_->hsa_memory_free_fn = memory_free;
  AmdExtTable& amd = *table->amd_ext_;
  amd.hsa_amd_memory_pool_allocate_fn = pool_allocate;
  amd.hsa_amd_memory_pool_free_fn = pool_free;
  amd.hsa_amd_memory_lock_fn = memory_lock;
  amd.hsa_amd_memory_lock_to_pool_fn = memory_lock_to_pool;
  amd.hsa_amd_memory_unlock_fn = memory_unlock;
  amd.hsa_amd_svm_attributes_set_fn = svm_attributes_set;
  amd.hsa_amd_vmem_map_fn = vmem_map;
  amd.hsa_amd_vmem_unmap_fn = vmem_unmap;
  amd.hsa_amd_ipc_memory_attach_fn = ipc_attach;
  amd.hsa_amd_ipc_memory_detach_fn = ipc_detach;
  amd.hsa_amd_interop_map_buffer_fn = interop_map;
  amd.hsa_amd_interop_unmap_buffer_fn = interop_unmap;
  if (table->image_ext_ != nullptr && hsa.image.hsa_ext_image_create_fn != nullptr) {
    table->image_ext_->hsa_ext_image_create_fn = image_create;
    table->image_ext_->hsa_ext_image_destroy_fn = image_destroy;
  }
}

}  // namespace rpd::isolate
