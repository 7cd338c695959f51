// Records device and host memory allocated from HSA memory pools.
#include <mutex>
#include <unordered_map>

#include "tracer/agents.h"
#include "tracer/host_context.h"
#include "tracer/recorder.h"
#include "tracer/wrappers.h"

namespace rpd::tracer {
namespace {

struct Pools {
  std::mutex mutex;
  std::unordered_map<uint64_t, uint32_t> node_of_pool;
};

Pools& pools() {
  static Pools& pools = *new Pools;
  return pools;
}

uint32_t node_of(hsa_amd_memory_pool_t pool) {
  std::lock_guard lock(pools().mutex);
  const auto entry = pools().node_of_pool.find(pool.handle);
  return entry == pools().node_of_pool.end() ? host_node() : entry->second;
}

hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* node) {
  pools().node_of_pool[pool.handle] = *static_cast<uint32_t*>(node);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_agent(hsa_agent_t agent, void*) {
  uint32_t node = tracer::node_of(agent);
  return hsa.amd.hsa_amd_agent_iterate_memory_pools_fn(agent, on_pool, &node);
}

void record_allocation(uint32_t node, void* address, uint64_t bytes, uint64_t start) {
  spool::Allocation allocation{};
  allocation.address = reinterpret_cast<uint64_t>(address);
  allocation.size = bytes;
  allocation.start_ns = start;
  allocation.end_ns = now_ns();
  allocation.origin = host_context().origin();
  allocation.node_id = node;
  record(spool::Kind::allocation, allocation);
}

hsa_status_t allocate(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags, void** address) {
  const uint64_t start = now_ns();
  const hsa_status_t status = hsa.amd.hsa_amd_memory_pool_allocate_fn(pool, bytes, flags, address);
  if (status == HSA_STATUS_SUCCESS && recording.load()) record_allocation(node_of(pool), *address, bytes, start);
  return status;
}

hsa_status_t release(void* address) {
  const uint64_t start = now_ns();
  const hsa_status_t status = hsa.amd.hsa_amd_memory_pool_free_fn(address);
  if (status == HSA_STATUS_SUCCESS && address != nullptr && recording.load()) record_allocation(0, address, 0, start);
  return status;
}

}  // namespace

void wrap_allocations(HsaApiTable* table) {
  hsa.core.hsa_iterate_agents_fn(on_agent, nullptr);
  table->amd_ext_->hsa_amd_memory_pool_allocate_fn = allocate;
  table->amd_ext_->hsa_amd_memory_pool_free_fn = release;
}

}  // namespace rpd::tracer
