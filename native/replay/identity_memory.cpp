// The software device's memory is this process's memory. Inside its aperture, the device maps pages where it is told to; above
// the aperture, device addresses are the process's own, so a page mapped there is already device memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "capture/elf_segments.h"
#include "common/software_device_api.h"
#include "replay/exact_memory.h"

namespace rpd::replay {
namespace {

constexpr uint64_t kPage = capture::kPage;

// Bits of /proc/self/pagemap [Linux, Documentation/admin-guide/mm/pagemap.rst].
constexpr uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62, kOfFile = 1ull << 61;

class IdentityMemory final : public ExactMemory {
 public:
  IdentityMemory(const rpd_api& device, const capture::Capture& capture, Image* image)
      : device_(device), capture_(capture), image_(image), pagemap_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~IdentityMemory() override {
    if (pagemap_ >= 0) close(pagemap_);
  }

  std::vector<Placement> map(const std::vector<capture::Region>& regions) override {
    std::vector<Placement> placements;
    for (const capture::Region& region : regions) {
      Placement placement{region.base, region.bytes, Outcome::exact, region.base};
      const int error = region.base < device_.aperture_size() ? in_aperture(region) : 0;
      if (error != 0) {
        placement.outcome = Outcome::failed;
        placement.why = error == EEXIST ? "ROCr already uses these addresses" : std::strerror(error);
      }
      placements.push_back(placement);
      device_.declare_memory(region.base, region.bytes, 1);
    }
    for (const Elf64_Phdr& segment : capture::elf_segments(capture_.code()))
      if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W))
        device_.declare_memory(capture_.dispatch().code.load_delta + segment.p_vaddr, segment.p_memsz, 0);
    return placements;
  }

  void restore() override {
    for (uint32_t i = 0; i < capture_.regions().size(); ++i) {
      if (!filled_) fill(i);
      else copy_back(i);
    }
    filled_ = true;
  }

  // A page that no longer belongs to the file has been written to.
  std::vector<PageRange> changed(uint32_t index) override {
    const capture::Region& region = capture_.regions()[index];
    const uint64_t count = region.bytes / kPage;
    std::vector<uint64_t> entries(count);
    const auto first = reinterpret_cast<uint64_t>(at(region.base)) / kPage;
    if (pagemap_ < 0 || !capture::read_fully(pagemap_, entries.data(), count * sizeof(uint64_t), first * sizeof(uint64_t)))
      return {{0, region.bytes}};
    std::vector<PageRange> ranges;
    for (uint64_t page = 0; page < count; ++page) {
      const bool written = (entries[page] & kSwapped) || ((entries[page] & kPresent) && !(entries[page] & kOfFile));
      if (!written) continue;
      if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == page * kPage) ranges.back().bytes += kPage;
      else ranges.push_back({page * kPage, kPage});
    }
    return ranges;
  }

  void read(uint64_t address, void* to, uint64_t bytes) override { std::memcpy(to, at(address), bytes); }
  void write(uint64_t address, const void* from, uint64_t bytes) override { std::memcpy(at(address), from, bytes); }
  void flush_caches() override { device_.invalidate_caches(); }
  uint64_t kernel_object() override { return capture_.dispatch().packet.kernel_object; }
  const char* method() const override { return "identity mapping"; }

 private:
  void* at(uint64_t address) const { return device_.host_address(address); }

  void fill(uint32_t index) {
    const capture::Region& region = capture_.regions()[index];
    void* const mapping = mmap(at(region.base), region.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                               image_->file(), static_cast<off_t>(image_->offset(index)));
    if (mapping == MAP_FAILED) throw std::runtime_error("cannot map " + hex(region.base) + ": " + std::strerror(errno));
  }

  // Once a page has been written to, it stays private to the process. Dropping such pages would be cheap, but a page fault
  // would then copy each of them again when it is next written to, which takes many times as long as copying it here.
  void copy_back(uint32_t index) {
    const uint64_t base = capture_.regions()[index].base;
    for (const PageRange& range : changed(index))
      std::memcpy(at(base + range.offset), image_->before(index) + range.offset, range.bytes);
  }

  int in_aperture(const capture::Region& region) const {
    if (region.end() > device_.aperture_size()) return EINVAL;
    return device_.map_memory(region.base, region.bytes);
  }

  const rpd_api& device_;
  const capture::Capture& capture_;
  Image* const image_;
  const int pagemap_;
  bool filled_ = false;
};

}  // namespace

std::unique_ptr<ExactMemory> identity_memory(const capture::Capture& capture, Image* image) {
  return std::make_unique<IdentityMemory>(*find_device(), capture, image);
}

std::unique_ptr<ExactMemory> exact_memory(const Agents& agents, const capture::Capture& capture, Image* image) {
  return find_device() != nullptr ? identity_memory(capture, image) : virtual_memory(agents, capture, image);
}

}  // namespace rpd::replay
