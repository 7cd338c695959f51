// A GPU's memory, obtained through HSA's virtual memory functions. Host memory is mapped in this process and locked, which
// lets the GPU access it at the same address; code can be placed only by ROCr's loader.
#include <hsa/hsa_ext_amd.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "replay/code.h"
#include "replay/exact_memory.h"
#include "replay/mmap_hint.h"

namespace rpd::replay {
namespace {

// More than the L2 and the Infinity Cache of any supported GPU.
constexpr uint64_t kFlushBytes = 512ull << 20;

std::string text_of(hsa_status_t status) {
  const char* text = nullptr;
  hsa_status_string(status, &text);
  return text != nullptr ? text : "unknown error";
}

void check(hsa_status_t status, const std::string& operation) {
  if (status != HSA_STATUS_SUCCESS) throw std::runtime_error(operation + ": " + text_of(status));
}

class VirtualMemory final : public ExactMemory {
 public:
  VirtualMemory(const Agents& agents, const capture::Capture& capture, Image* image)
      : agents_(agents), capture_(capture), image_(image) {
    hsa_amd_agent_iterate_memory_pools(agents.agent, on_pool, &pool_);
    if (pool_.handle == 0) throw std::runtime_error("the GPU has no memory pool");
  }

  ~VirtualMemory() override {
    code_.reset();
    for (const Mapped& mapped : mapped_) {
      hsa_amd_vmem_unmap(reinterpret_cast<void*>(mapped.base), mapped.bytes);
      hsa_amd_vmem_handle_release(mapped.handle);
      hsa_amd_vmem_address_free(reinterpret_cast<void*>(mapped.base), mapped.bytes);
    }
    if (flushed_ != nullptr) hsa_amd_memory_pool_free(flushed_);
  }

  std::vector<Placement> map(const std::vector<capture::Region>& regions) override {
    std::vector<Placement> placements;
    for (const capture::Region& region : regions) {
      Placement placement{region.base, region.bytes, Outcome::exact, region.base};
      switch (region.kind) {
        case capture::Kind::host:
        case capture::Kind::registered:
        case capture::Kind::managed: map_host(placement); break;
        case capture::Kind::code:
          if (region.contains(capture_.dispatch().code.load_base, 1)) load_code(placement);
          else map_device(placement);
          break;
        default: map_device(placement);
      }
      placements.push_back(placement);
    }
    return placements;
  }

  void restore() override {
    for (uint32_t i = 0; i < capture_.regions().size(); ++i) {
      const capture::Region& region = capture_.regions()[i];
      write(region.base, image_->before(i), region.bytes);
    }
  }

  std::vector<PageRange> changed(uint32_t region) override { return {{0, capture_.regions()[region].bytes}}; }

  void read(uint64_t address, void* to, uint64_t bytes) override {
    check(hsa_memory_copy(to, reinterpret_cast<const void*>(address), bytes), "cannot read " + hex(address));
  }
  void write(uint64_t address, const void* from, uint64_t bytes) override {
    check(hsa_memory_copy(reinterpret_cast<void*>(address), from, bytes), "cannot write " + hex(address));
  }

  void flush_caches() override {
    if (flushed_ == nullptr)
      check(hsa_amd_memory_pool_allocate(pool_, kFlushBytes, 0, &flushed_), "not enough memory to flush the caches");
    check(hsa_amd_memory_fill(flushed_, 0, kFlushBytes / 4), "cannot flush the caches");
  }

  uint64_t kernel_object() override { return code_ ? code_->kernel_object() : capture_.dispatch().packet.kernel_object; }
  const char* method() const override { return "hsa_amd_vmem"; }

 private:
  struct Mapped {
    uint64_t base, bytes;
    hsa_amd_vmem_alloc_handle_t handle;
  };

  static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* data) {
    hsa_amd_segment_t segment{};
    uint32_t flags = 0;
    bool allowed = false;
    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
    if (segment == HSA_AMD_SEGMENT_GLOBAL && allowed && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED))
      *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
    return HSA_STATUS_SUCCESS;
  }

  static void fail(Placement& placement, const std::string& operation, hsa_status_t status) {
    placement.outcome = Outcome::failed, placement.actual = 0;
    placement.why = operation + ": " + text_of(status);
  }

  // Checked because ROCr treats the address only as a hint.
  static bool is_exact(Placement& placement, const void* address) {
    placement.actual = reinterpret_cast<uint64_t>(address);
    if (placement.actual == placement.base) return true;
    placement.outcome = Outcome::relocated, placement.why = "ROCr chose a different address";
    return false;
  }

  void map_device(Placement& placement) {
    auto* const wanted = reinterpret_cast<void*>(placement.base);
    munmap(wanted, placement.bytes);  // ROCr makes its own reservation
    void* address = nullptr;
    hsa_status_t status = hsa_amd_vmem_address_reserve(&address, placement.bytes, placement.base, 0);
    if (status != HSA_STATUS_SUCCESS) return fail(placement, "hsa_amd_vmem_address_reserve", status);
    if (!is_exact(placement, address)) {
      hsa_amd_vmem_address_free(address, placement.bytes);
      return;
    }
    hsa_amd_vmem_alloc_handle_t handle{};
    status = hsa_amd_vmem_handle_create(pool_, placement.bytes, MEMORY_TYPE_NONE, 0, &handle);
    if (status != HSA_STATUS_SUCCESS) return fail(placement, "hsa_amd_vmem_handle_create", status);
    status = hsa_amd_vmem_map(address, placement.bytes, 0, handle, 0);
    if (status != HSA_STATUS_SUCCESS) return fail(placement, "hsa_amd_vmem_map", status);
    const hsa_amd_memory_access_desc_t access{HSA_ACCESS_PERMISSION_RW, agents_.agent};
    status = hsa_amd_vmem_set_access(address, placement.bytes, &access, 1);
    if (status != HSA_STATUS_SUCCESS) return fail(placement, "hsa_amd_vmem_set_access", status);
    mapped_.push_back({placement.base, placement.bytes, handle});
  }

  void map_host(Placement& placement) {
    auto* const wanted = reinterpret_cast<void*>(placement.base);
    const void* memory = mmap(wanted, placement.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (memory == MAP_FAILED) {
      placement.outcome = Outcome::failed, placement.actual = 0, placement.why = std::strerror(errno);
      return;
    }
    void* address = nullptr;
    hsa_agent_t agent = agents_.agent;
    const hsa_status_t status = hsa_amd_memory_lock(wanted, placement.bytes, &agent, 1, &address);
    if (status != HSA_STATUS_SUCCESS) return fail(placement, "hsa_amd_memory_lock", status);
    is_exact(placement, address);
  }

  void load_code(Placement& placement) {
    munmap(reinterpret_cast<void*>(placement.base), placement.bytes);
    try {
      const MmapHint steering(placement.base, placement.bytes);
      code_ = std::make_unique<LoadedCode>(agents_.agent, capture_.code(), capture_.dispatch().kernel.symbol);
    } catch (const UnfitCodeError& error) {
      placement.outcome = Outcome::failed, placement.actual = 0, placement.why = error.what();
      return;
    }
    const uint64_t base = placement.base + (code_->kernel_object() - capture_.dispatch().packet.kernel_object);
    is_exact(placement, reinterpret_cast<const void*>(base));
  }

  const Agents agents_;
  const capture::Capture& capture_;
  Image* const image_;
  hsa_amd_memory_pool_t pool_{};
  std::unique_ptr<LoadedCode> code_;
  std::vector<Mapped> mapped_;
  void* flushed_ = nullptr;
};

}  // namespace

std::unique_ptr<ExactMemory> virtual_memory(const Agents& agents, const capture::Capture& capture, Image* image) {
  return std::make_unique<VirtualMemory>(agents, capture, image);
}

}  // namespace rpd::replay
