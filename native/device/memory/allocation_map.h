// The addresses that a kernel may access: the device's allocations and the host process's mappings.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace rpd {

// A range within which accesses need no further checks. Empty if there is none.
struct AccessWindow {
  uint64_t begin = 0;
  uint64_t size = 0;
  bool holds(uint64_t address, uint64_t bytes) const { return bytes <= size && address - begin <= size - bytes; }
};

// A range of addresses that is either entirely in device memory or entirely outside it.
struct Placement {
  uint64_t begin = 0;
  uint64_t size = 0;
  bool local = true;
  bool holds(uint64_t address) const { return address - begin < size; }
};

class AllocationMap {
 public:
  // Memory as the kernel driver hands it out, in whole pages. Only this decides what may be accessed.
  void add(uint64_t begin, uint64_t size, bool local);
  void remove(uint64_t begin);
  bool is_local(uint64_t address) const;
  bool overlaps(uint64_t begin, uint64_t size) const;
  // The allocation around `address` if that is device memory, otherwise the gap or host allocation around it.
  Placement placement(uint64_t address) const;

  // Allocations as the program requested them, several of which may share a page. Used in messages only.
  void name(uint64_t begin, uint64_t size);
  void forget_name(uint64_t begin);

  // The process has changed its mappings.
  void forget_host_ranges();

  // The mapped device range around `address`, neighbours joined; empty if it is not mapped.
  AccessWindow device_window(uint64_t address) const;
  // The same for an address of the host process, from /proc/self/maps. If `writes`, ranges that the process itself cannot
  // write are left out.
  AccessWindow host_window(uint64_t address, bool writes) const;

  // The range around an address that the process has reserved without access rights; empty if there is none.
  AccessWindow reservation(uint64_t address) const;

  // "4 bytes behind an allocation of 4096 bytes at 0x1000", or whatever else is known about the address.
  std::string describe(uint64_t address) const;

 private:
  struct Range {
    uint64_t size;
    bool local;
  };
  struct HostRange {
    uint64_t size;
    bool readable, writable;
  };
  void read_host_ranges() const;
  AccessWindow find_host(uint64_t address, bool writes) const;

  mutable std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;                    // by first address
  std::map<uint64_t, uint64_t> named_;                  // size by first address
  mutable std::map<uint64_t, HostRange> host_ranges_;   // as last read
};

}  // namespace rpd
