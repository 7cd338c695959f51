#include "memory/cache.h"

#include <algorithm>

namespace rpd {

WriteRequests write_requests(const ByteMask& dirty) {
  WriteRequests out;
  for (const uint64_t half : {dirty.low, dirty.high}) {
    const bool first = half & 0xffffffffull;
    const bool second = half >> 32;
    out.bytes64 += first && second;
    out.bytes32 += first != second;
  }
  return out;
}

}  // namespace rpd
