// An array of zeros whose pages the system provides when they are first touched. Caches are large, and most programs touch only
// a small part of them, so filling them would take longer than running the programs.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace rpd {

// An object of type T whose bytes are all zero must be valid.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size) : size_(size), items_(static_cast<T*>(zeros(size * sizeof(T))), {size * sizeof(T)}) {}
  ZeroedArray(const ZeroedArray& other) : ZeroedArray(other.size_) { std::copy_n(other.items_.get(), size_, items_.get()); }
  ZeroedArray(ZeroedArray&&) = default;
  ZeroedArray& operator=(ZeroedArray&&) = default;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T* data() { return items_.get(); }
  T* begin() { return items_.get(); }
  T* end() { return items_.get() + size_; }
  T& operator[](size_t i) { return items_.get()[i]; }
  const T& operator[](size_t i) const { return items_.get()[i]; }

 private:
  // Arrays of at least this size get pages of their own, but not from calloc: malloc's threshold for doing so varies at run
  // time, and calloc may have to clear memory that has been used before.
  static constexpr size_t kOwnPages = 64 << 10;
  static constexpr size_t kAlignment = std::max(alignof(T), alignof(std::max_align_t));

  static void* zeros(size_t bytes) {
    if (bytes < kOwnPages) {
      void* const items = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
      return items ? std::memset(items, 0, bytes) : throw std::bad_alloc();
    }
    void* const items = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return items != MAP_FAILED ? items : throw std::bad_alloc();
  }

  struct Deleter {
    size_t bytes = 0;
    void operator()(T* items) const {
      if (bytes < kOwnPages) std::free(items);
      else munmap(items, bytes);
    }
  };
  size_t size_ = 0;
  std::unique_ptr<T, Deleter> items_;
};

}  // namespace rpd
