#include "runtime/allocations.h"

namespace rpd {

void Allocations::add(uint64_t begin, uint64_t size, bool local) {
  std::lock_guard lock(mutex_);
  ranges_[begin] = {size, local};
}

void Allocations::remove(uint64_t begin) {
  std::lock_guard lock(mutex_);
  ranges_.erase(begin);
}

bool Allocations::is_local(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return false;
  const auto& [begin, range] = *std::prev(next);
  return address - begin < range.size && range.local;
}

}  // namespace rpd
