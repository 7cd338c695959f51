#include "isolate/memory_access.h"

#include <array>
#include <stdexcept>
#include <string>

#include "common/software_device_api.h"
#include "isolate/untouched_memory.h"

namespace rpd::isolate {
namespace {

void read_directly(const unsigned char* memory, uint64_t bytes, const MemoryAccess::Piece& piece) {
  for (uint64_t offset = 0; offset < bytes; offset += MemoryAccess::kPiece)
    piece(offset, {memory + offset, std::min(MemoryAccess::kPiece, bytes - offset)});
}

// Used on the software device, where all memory is the process's own.
class DirectAccess final : public MemoryAccess {
 public:
  explicit DirectAccess(const rpd_api& device) : device_(device), zeros_(kStep) {}

  void read(const Source& source, const Piece& piece) override {
    const auto* const memory = static_cast<const unsigned char*>(device_.host_address(source.region.base));
    for (uint64_t offset = 0; offset < source.region.bytes; offset += kStep) {
      const uint64_t bytes = std::min(kStep, source.region.bytes - offset);
      piece(offset, {untouched_.holds(memory + offset, bytes) ? zeros_.data() : memory + offset, bytes});
    }
  }

 private:
  static constexpr uint64_t kStep = 1 << 20;  // granularity of the search for untouched memory

  const rpd_api& device_;
  const UntouchedMemory untouched_;
  const std::vector<unsigned char> zeros_;
};

// Used on a GPU, whose memory is copied through two buffers: one is filled while the other is being processed.
class StagedAccess final : public MemoryAccess {
 public:
  explicit StagedAccess(hsa_agent_t agent) : agent_(agent) {
    hsa.core.hsa_iterate_agents_fn(on_agent, this);
    if (pool_.handle == 0) throw std::runtime_error("there is no host memory to which the GPU can copy");
    for (Buffer& buffer : buffers_) {
      if (hsa.amd.hsa_amd_memory_pool_allocate_fn(pool_, kPiece, 0, &buffer.memory) != HSA_STATUS_SUCCESS ||
          hsa.amd.hsa_amd_agents_allow_access_fn(1, &agent_, nullptr, buffer.memory) != HSA_STATUS_SUCCESS ||
          hsa.core.hsa_signal_create_fn(0, 0, nullptr, &buffer.done) != HSA_STATUS_SUCCESS)
        throw std::runtime_error("not enough host memory for copies of the GPU's memory");
    }
  }

  ~StagedAccess() override {
    for (const Buffer& buffer : buffers_) {
      if (buffer.done.handle != 0) hsa.core.hsa_signal_destroy_fn(buffer.done);
      if (buffer.memory != nullptr) hsa.amd.hsa_amd_memory_pool_free_fn(buffer.memory);
    }
  }

  void read(const Source& source, const Piece& piece) override {
    if (source.agent.handle == 0) {
      read_directly(reinterpret_cast<const unsigned char*>(source.region.base), source.region.bytes, piece);
      return;
    }
    const uint64_t bytes = source.region.bytes;
    start(source, 0, buffers_[0]);
    for (uint64_t offset = 0, turn = 0; offset < bytes; offset += kPiece, ++turn) {
      const Buffer& buffer = buffers_[turn % 2];
      finish(source, buffer);
      if (offset + kPiece < bytes) start(source, offset + kPiece, buffers_[(turn + 1) % 2]);
      piece(offset, {static_cast<const unsigned char*>(buffer.memory), std::min(kPiece, bytes - offset)});
    }
  }

 private:
  struct Buffer {
    void* memory = nullptr;
    hsa_signal_t done{};
  };

  static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* data) {
    auto& self = *static_cast<StagedAccess*>(data);
    hsa_amd_segment_t segment{};
    bool allowed = false;
    uint32_t flags = 0;
    hsa.amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    hsa.amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    hsa.amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
    if (self.pool_.handle == 0 && segment == HSA_AMD_SEGMENT_GLOBAL && allowed &&
        (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED))
      self.pool_ = pool;
    return HSA_STATUS_SUCCESS;
  }
  static hsa_status_t on_agent(hsa_agent_t agent, void* data) {
    hsa_device_type_t type{};
    hsa.core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
    static_cast<StagedAccess*>(data)->host_ = agent;
    return hsa.amd.hsa_amd_agent_iterate_memory_pools_fn(agent, on_pool, data);
  }

  void start(const Source& source, uint64_t offset, const Buffer& buffer) {
    hsa.core.hsa_signal_store_relaxed_fn(buffer.done, 1);
    const uint64_t bytes = std::min(kPiece, source.region.bytes - offset);
    const auto* from = reinterpret_cast<const void*>(source.region.base + offset);
    if (hsa.amd.hsa_amd_memory_async_copy_fn(buffer.memory, host_, from, source.agent, bytes, 0, nullptr, buffer.done) !=
        HSA_STATUS_SUCCESS)
      fail(source);
  }
  void finish(const Source& source, const Buffer& buffer) {
    if (hsa.core.hsa_signal_wait_scacquire_fn(buffer.done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 0)
      fail(source);
  }
  [[noreturn]] static void fail(const Source& source) {
    char text[96];
    std::snprintf(text, sizeof text, "the GPU cannot copy its memory at 0x%llx",
                  static_cast<unsigned long long>(source.region.base));
    throw std::runtime_error(text);
  }

  hsa_agent_t agent_, host_{};
  hsa_amd_memory_pool_t pool_{};
  std::array<Buffer, 2> buffers_;
};

}  // namespace

std::unique_ptr<MemoryAccess> memory_access(hsa_agent_t agent, bool always_copy) {
  const rpd_api* device = find_device();
  if (device != nullptr && !always_copy) return std::make_unique<DirectAccess>(*device);
  return std::make_unique<StagedAccess>(agent);
}

}  // namespace rpd::isolate
