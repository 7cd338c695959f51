#include "exec/access_watch.h"

#include <cstring>

namespace rpd {

std::optional<std::vector<uint8_t>> AccessWatch::contents(const AddressSpace& memory) const {
  std::vector<uint8_t> bytes;
  for (const auto& [address, size] : accessed_) {
    if (!memory.allows(address, size, false)) return std::nullopt;
    const auto* begin = memory.at<uint8_t>(address);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  return bytes;
}

bool AccessWatch::differs(const AddressSpace& memory, const std::vector<uint8_t>& before) const {
  const uint8_t* previous = before.data();
  for (const auto& [address, size] : accessed_) {
    if (!memory.allows(address, size, false) || std::memcmp(memory.at<uint8_t>(address), previous, size) != 0) return true;
    previous += size;
  }
  return false;
}

}  // namespace rpd
