// Bytes to put over the captured memory before the kernel runs: what another input would have been.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpd::replay {

struct WrongOverlay : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Overlay {
  uint64_t address = 0;
  std::vector<unsigned char> content;
};

// A file of records: address and length, 8 bytes each, little-endian, then so many bytes. Throws WrongOverlay.
std::vector<Overlay> read_overlays(const std::string& path);

}  // namespace rpd::replay
