// Device addresses and where they lie in this process.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/allocation_map.h"

namespace rpd {

// Where the LDS and private memory appear in the flat address space (the addresses where ROCr's thunk puts them when a model
// replaces the driver).
constexpr uint64_t kSharedAperture = 0x4000000000000000ull;
constexpr uint64_t kPrivateAperture = 0x5000000000000000ull;
constexpr uint64_t kApertureMask = 0xffffffff00000000ull;

// The thunk puts device memory into an aperture in the host process: device address a is at host address base + a. The device
// addresses that the thunk hands out come from a range that it has also reserved in the process's own address space. So no host
// memory lies in that range, and every address outside it is a host address, even if the program is linked at a low address and
// its code and heap are therefore at low addresses too.
class AddressSpace {
 public:
  // Without a map, the aperture belongs to the device and may be accessed; nothing else may be.
  explicit AddressSpace(const AllocationMap* map = nullptr) : map_(map) {}

  void set_aperture(char* base, uint64_t size) {
    base_ = base;
    aperture_size_ = size;
    if (!map_) span_ = size;
  }
  // Extends the device's address range to include these addresses and any gap in between.
  void extend_device_range(uint64_t begin, uint64_t size) {
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

  // The range around `address` in which every access is legal; empty if `address` itself may not be accessed.
  AccessWindow window(uint64_t address, bool writes) const {
    if (!map_) return is_device(address) ? AccessWindow{begin_, span_} : AccessWindow{};
    if (!is_device(address)) return map_->host_window(address, writes);
    return map_->device_window(address, reinterpret_cast<uint64_t>(base_), writes);
  }
  bool allows(uint64_t address, uint64_t bytes, bool writes) const { return window(address, writes).holds(address, bytes); }

  const AllocationMap* map() const { return map_; }

 private:
  const AllocationMap* map_;
  char* base_ = nullptr;
  uint64_t aperture_size_ = 0;
  uint64_t begin_ = 0;  // where the device's addresses begin
  uint64_t span_ = 0;
};

}  // namespace rpd
