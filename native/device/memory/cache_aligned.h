// Vectors that begin on a cache line boundary of the host, so that the host's vector accesses to them do not straddle two
// lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace rpd {

template <class T>
struct CacheAlignedAllocator {
  using value_type = T;

  CacheAlignedAllocator() = default;
  template <class Other>
  CacheAlignedAllocator(const CacheAlignedAllocator<Other>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* pointer, size_t) { ::operator delete(pointer, kLine); }
  bool operator==(const CacheAlignedAllocator&) const = default;

 private:
  static constexpr std::align_val_t kLine{64};
};

template <class T>
using CacheAlignedVector = std::vector<T, CacheAlignedAllocator<T>>;

}  // namespace rpd
