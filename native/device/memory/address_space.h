// Device addresses and where they are in this process.
#pragma once

#include <cstdint>

namespace rpd {

// ROCr reserves an aperture in the host process: a device address below its size lies at base + address;
// anything above is a host address itself (pinned host memory, for one).
class AddressSpace {
 public:
  void set_aperture(char* base, uint64_t size) {
    base_ = base;
    size_ = size;
  }

  template <class T = void>
  T* at(uint64_t address) const {
    return reinterpret_cast<T*>(address < size_ ? base_ + address : reinterpret_cast<char*>(address));
  }

 private:
  char* base_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace rpd
