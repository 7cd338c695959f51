// Bytes that replace captured memory before the kernel runs, so that it gets different inputs.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpd::replay {

struct InvalidOverlay : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Overlay {
  uint64_t address = 0;
  std::vector<unsigned char> content;
};

// Reads a file of records, each an address and a length (8 bytes each, little-endian) followed by that many bytes. Throws
// InvalidOverlay.
std::vector<Overlay> read_overlays(const std::string& path);

}  // namespace rpd::replay
