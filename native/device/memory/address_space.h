// Device addresses and where they are in this process.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/allocation_map.h"

namespace rpd {

// Where the LDS and private memory appear in the flat address space (where ROCr's thunk puts them for a model).
constexpr uint64_t kSharedAperture = 0x4000000000000000ull;
constexpr uint64_t kPrivateAperture = 0x5000000000000000ull;
constexpr uint64_t kApertureMask = 0xffffffff00000000ull;

// The thunk puts device memory into an aperture in the host process: what has the device address a lies at base + a.
// Whatever it hands out lies in a range of addresses that it has reserved in the process as well. So nothing of the host
// is in that range, and all that is not in it is a host address: also that of a program which is linked to a low
// address, and of its heap.
class AddressSpace {
 public:
  // Without a map, everything in the aperture is the device's and may be accessed, and nothing else.
  explicit AddressSpace(const AllocationMap* map = nullptr) : map_(map) {}

  void set_aperture(char* base, uint64_t size) {
    base_ = base;
    aperture_size_ = size;
    if (!map_) span_ = size;
  }
  // From now on these addresses, and all between them and others of the device, are the device's.
  void cover(uint64_t begin, uint64_t size) {
    const uint64_t end = span_ == 0 ? begin + size : std::max(begin + size, begin_ + span_);
    begin_ = span_ == 0 ? begin : std::min(begin, begin_);
    span_ = end - begin_;
  }
  bool is_device(uint64_t address) const { return address - begin_ < span_; }

  template <class T = void>
  T* at(uint64_t address) const {
    return reinterpret_cast<T*>(is_device(address) ? base_ + address : reinterpret_cast<char*>(address));
  }

  uint64_t aperture_size() const { return aperture_size_; }

  // The range around `address` in which every access is legal; empty if none at `address` is.
  AccessWindow window(uint64_t address, bool writes) const {
    if (!map_) return is_device(address) ? AccessWindow{begin_, span_} : AccessWindow{};
    return is_device(address) ? map_->device_window(address) : map_->host_window(address, writes);
  }
  bool allows(uint64_t address, uint64_t bytes, bool writes) const { return window(address, writes).holds(address, bytes); }

  const AllocationMap* map() const { return map_; }

 private:
  const AllocationMap* map_;
  char* base_ = nullptr;
  uint64_t aperture_size_ = 0;
  uint64_t begin_ = 0;  // of the device's addresses
  uint64_t span_ = 0;
};

}  // namespace rpd
