// The addresses that a kernel may access: the device's allocations and the host process's mappings.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace rpd {

// A range within which accesses need no further checks. Has size 0 if there is no such range.
struct AccessWindow {
  uint64_t begin = 0;
  uint64_t size = 0;
  bool holds(uint64_t address, uint64_t bytes) const { return bytes <= size && address - begin <= size - bytes; }
};

// Who owns a piece of memory: the host, or the device with this number.
using Owner = int8_t;
constexpr Owner kHost = -1;
constexpr Owner kMaxDevices = 8;

// A range of addresses that lies entirely in the memory of one owner.
struct OwnedRange {
  uint64_t begin = 0;
  uint64_t size = 0;
  Owner owner = kHost;
  bool holds(uint64_t address) const { return address - begin < size; }
};

// The memory that one device knows about: its own allocations, other devices' allocations, and the host's memory.
class AllocationMap {
 public:
  explicit AllocationMap(Owner device = 0) : device_(device) {}
  Owner device() const { return device_; }

  // Memory as the kernel driver hands it out, in whole pages. This alone decides what may be accessed. `granted`: whether the
  // device may access all of it. Otherwise, it may access only the parts that this process has mapped into the device's
  // aperture, which is what the driver does when a device is given access to another device's memory.
  void add(uint64_t begin, uint64_t size, Owner owner, bool granted = true);
  void remove(uint64_t begin);
  Owner owner(uint64_t address) const;
  bool is_local(uint64_t address) const { return owner(address) == device_; }
  bool overlaps(uint64_t begin, uint64_t size) const;
  // The allocation that contains `address`; if none does, the gap that contains it, which belongs to the host.
  OwnedRange placement(uint64_t address) const;

  // Allocations as the program requested them. Several of them may share a page. They are used only in messages.
  void name(uint64_t begin, uint64_t size);
  void forget_name(uint64_t begin);

  // To be called when the process has changed its mappings.
  void forget_host_ranges();

  // The range around `address` that the device may access; empty if it may not access the address. Adjacent allocations are
  // included if both they and the allocation itself are granted. `aperture`: the host address of device address 0.
  AccessWindow device_window(uint64_t address, uint64_t aperture, bool writes) const;
  // The same for an address in the host process, according to /proc/self/maps. If `writes`, ranges that the process itself
  // cannot write are left out.
  AccessWindow host_window(uint64_t address, bool writes) const;

  // The range around an address that the process has reserved without access rights; empty if there is none.
  AccessWindow reservation(uint64_t address) const;

  // "4 bytes past the end of an allocation of 4096 bytes at 0x1000", or whatever else is known about the address.
  std::string describe(uint64_t address) const;

 private:
  struct Range {
    uint64_t size;
    Owner owner;
    bool granted;
  };
  struct HostRange {
    uint64_t size;
    bool readable, writable;
  };
  using Ranges = std::map<uint64_t, Range>;

  bool is_granted(uint64_t address) const;
  AccessWindow mapped_part(Ranges::const_iterator range, uint64_t aperture, uint64_t address, bool writes) const;
  AccessWindow current_host(uint64_t address, bool writes) const;
  void read_host_ranges() const;
  AccessWindow find_host(uint64_t address, bool writes) const;

  const Owner device_;
  mutable std::mutex mutex_;
  Ranges ranges_;                                       // by first address
  std::map<uint64_t, uint64_t> named_;                  // size by first address
  mutable std::map<uint64_t, HostRange> host_ranges_;   // as last read
};

}  // namespace rpd
