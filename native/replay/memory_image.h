// A capture's memory in this process: a single copy of the content before the kernel runs, and the content expected afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/reader.h"

namespace rpd::replay {

class Image {
 public:
  // Reads and checks all of the capture's memory. Throws InvalidCapture, or std::runtime_error if memory runs out.
  explicit Image(const capture::Capture& capture);
  ~Image();
  Image(const Image&) = delete;

  // An in-memory file that contains all regions one after the other; pages of zeros are holes. Private mappings of it start
  // with the captured content and share the file's memory, except for pages that are written to.
  int file() const { return file_; }
  uint64_t offset(uint32_t region) const { return offsets_[region]; }

  const unsigned char* before(uint32_t region) const { return before_ + offsets_[region]; }
  // Built on first use: shares the memory of before(), except for the pages that the kernel changed.
  const unsigned char* expected(uint32_t region);

  // Replaces captured bytes; the expected content stays as it is. Throws std::out_of_range if `content` extends beyond the
  // region.
  void overlay(uint32_t region, uint64_t offset, std::span<const unsigned char> content);

  uint64_t bytes() const { return bytes_; }

 private:
  const capture::Capture& capture_;
  int file_ = -1;
  std::vector<uint64_t> offsets_;
  uint64_t bytes_ = 0;
  unsigned char* before_ = nullptr;
  unsigned char* expected_ = nullptr;
};

}  // namespace rpd::replay
