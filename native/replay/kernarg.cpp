#include "replay/kernarg.h"

#include <cstring>
#include <stdexcept>

namespace rpd::replay {

Kernarg::Kernarg(const Agents& agents) {
  hsa_amd_agent_iterate_memory_pools(agents.host, on_pool, this);
  if (pool_.handle == 0 || hsa_amd_memory_pool_allocate(pool_, kRoom, 0, &memory_) != HSA_STATUS_SUCCESS)
    throw std::runtime_error("there is no memory for the kernel's arguments");
  if (hsa_amd_agents_allow_access(1, &agents.agent, nullptr, memory_) != HSA_STATUS_SUCCESS)
    throw std::runtime_error("the GPU cannot access the memory for the kernel's arguments");
}

Kernarg::~Kernarg() {
  if (memory_ != nullptr) hsa_amd_memory_pool_free(memory_);
}

hsa_status_t Kernarg::on_pool(hsa_amd_memory_pool_t pool, void* data) {
  auto& self = *static_cast<Kernarg*>(data);
  uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (self.pool_.handle == 0 && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)) self.pool_ = pool;
  return HSA_STATUS_SUCCESS;
}

void Kernarg::fill(std::vector<unsigned char> content, const std::vector<HiddenValue>& hidden) {
  content.resize(kRoom);
  for (const HiddenValue& value : hidden) {
    if (value.offset > kRoom || value.bytes > kRoom - value.offset)
      throw std::runtime_error("the kernel's arguments are too large");
    std::memcpy(content.data() + value.offset, &value.value, value.bytes);  // host and GPU are little-endian
  }
  content_ = std::move(content);
  std::memcpy(memory_, content_.data(), content_.size());
}

void Kernarg::check_unchanged() const {
  if (std::memcmp(memory_, content_.data(), content_.size()) != 0)
    throw std::runtime_error("the kernel wrote to its own arguments");
}

}  // namespace rpd::replay
