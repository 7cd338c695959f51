#include "timing/memory_counts.h"

namespace rpd {

void MemoryCounts::add(const MemoryCounts& other) {
  // All members are uint64_t: one loop instead of a list that someone forgets to extend.
  static_assert(sizeof(MemoryCounts) % sizeof(uint64_t) == 0);
  auto* mine = reinterpret_cast<uint64_t*>(this);
  const auto* theirs = reinterpret_cast<const uint64_t*>(&other);
  for (unsigned i = 0; i < sizeof(MemoryCounts) / sizeof(uint64_t); ++i) mine[i] += theirs[i];
}

}  // namespace rpd
