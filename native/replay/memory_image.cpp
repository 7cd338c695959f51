#include "replay/memory_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rpd::replay {
namespace {

unsigned char* mapped(int file, uint64_t bytes, int kind) {
  if (bytes == 0) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error(std::string("no memory for the capture: ") + std::strerror(errno));
  return static_cast<unsigned char*>(memory);
}

}  // namespace

Image::Image(const capture::Capture& capture) : capture_(capture), file_(memfd_create("rocm-perf-capture", MFD_CLOEXEC)) {
  for (const capture::Region& region : capture.regions()) offsets_.push_back(bytes_), bytes_ += region.bytes;
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes_)) != 0)
    throw std::runtime_error(std::string("no memory for the capture: ") + std::strerror(errno));
  before_ = mapped(file_, bytes_, MAP_SHARED);
  for (uint32_t region = 0; region < capture.regions().size(); ++region)
    capture.load(capture::Phase::before, region, before_ + offsets_[region]);
}

Image::~Image() {
  if (before_ != nullptr) munmap(before_, bytes_);
  if (expected_ != nullptr) munmap(expected_, bytes_);
  if (file_ >= 0) close(file_);
}

const unsigned char* Image::expected(uint32_t region) {
  if (expected_ == nullptr) {
    expected_ = mapped(file_, bytes_, MAP_PRIVATE);
    for (uint32_t r = 0; r < capture_.regions().size(); ++r) capture_.load(capture::Phase::after, r, expected_ + offsets_[r]);
  }
  return expected_ + offsets_[region];
}

void Image::overlay(uint32_t region, uint64_t offset, std::span<const unsigned char> content) {
  const uint64_t bytes = capture_.regions()[region].bytes;
  if (offset > bytes || content.size() > bytes - offset) throw std::out_of_range("an overlay extends beyond its region");
  std::memcpy(before_ + offsets_[region] + offset, content.data(), content.size());
}

}  // namespace rpd::replay
