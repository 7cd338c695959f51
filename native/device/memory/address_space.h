// Device addresses and where they are in this process.
#pragma once

#include <cstdint>

#include "memory/allocation_map.h"

namespace rpd {

// ROCr reserves an aperture in the host process: a device address below its size lies at base + address;
// anything above is a host address itself (pinned host memory, for one).
class AddressSpace {
 public:
  // Without a map, everything in the aperture may be accessed and nothing else.
  explicit AddressSpace(const AllocationMap* map = nullptr) : map_(map) {}

  void set_aperture(char* base, uint64_t size) {
    base_ = base;
    size_ = size;
  }

  template <class T = void>
  T* at(uint64_t address) const {
    return reinterpret_cast<T*>(address < size_ ? base_ + address : reinterpret_cast<char*>(address));
  }

  uint64_t aperture_size() const { return size_; }

  // The range around `address` in which every access is legal; empty if none at `address` is.
  AccessWindow window(uint64_t address, bool writes) const {
    if (!map_) return address < size_ ? AccessWindow{0, size_} : AccessWindow{};
    return address < size_ ? map_->device_window(address) : map_->host_window(address, writes);
  }
  bool allows(uint64_t address, uint64_t bytes, bool writes) const { return window(address, writes).holds(address, bytes); }

  const AllocationMap* map() const { return map_; }

 private:
  const AllocationMap* map_;
  char* base_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace rpd
