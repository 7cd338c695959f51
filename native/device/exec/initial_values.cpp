#include "exec/initial_values.h"

#include <algorithm>
#include <cstring>

namespace rpd {

void InitialValues::begin() {
  if (seed_ == 0) return;
  words_.resize(kWords);
  for (uint32_t& word : words_) word = static_cast<uint32_t>(draw_());
}

void InitialValues::fill(std::span<uint8_t> bytes, uint64_t group) const {
  if (seed_ == 0) return std::fill(bytes.begin(), bytes.end(), 0);
  uint64_t first = group % kWords;
  while (!bytes.empty()) {
    const size_t size = std::min<size_t>(bytes.size(), (kWords - first) * sizeof(uint32_t));
    std::memcpy(bytes.data(), &words_[first], size);
    bytes = bytes.subspan(size);
    first = 0;
  }
}

void InitialValues::fill(std::span<uint32_t> words, uint64_t group) const {
  fill(std::span(reinterpret_cast<uint8_t*>(words.data()), words.size_bytes()), group);
}

}  // namespace rpd
