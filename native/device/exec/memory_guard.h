// Determines which mapped memory a device's kernels may access. With page faults off, host memory must have been registered or
// allocated for the device. With the memory-check option, kernels may access only their program's own memory.
#pragma once

#include <cstdint>
#include <string>

#include "exec/engine.h"
#include "memory/writable_memory.h"

namespace rpd {

struct DispatchedKernel;

class MemoryGuard {
 public:
  // `confines`: whether the memory-check option is set.
  MemoryGuard(const WritableMemory& memory, bool confines) : memory_(memory), confines_(confines) {}

  bool confines() const { return confines_; }

  // From now on, checks the accesses of this kernel.
  void begin(const DispatchedKernel& kernel);

  // The part of `mapped` (a window of host memory around `address`) that the device can reach; it consists of whole pages.
  AccessWindow pinned(uint64_t address, uint32_t bytes, AccessWindow mapped) const;

  // The part of `mapped` (a window around `address`) that a confined kernel may write or read; empty if it does not include the
  // address. The kernel may read its arguments and code, and also its packet and its queue if its descriptor requests them.
  AccessWindow writable(uint64_t address, AccessWindow mapped) const;
  AccessWindow readable(uint64_t address, AccessWindow mapped) const;
  // Whether the address belongs to a signal that a kernel may raise.
  bool may_signal(uint64_t address, uint32_t bytes, bool writes) const { return memory_.may_signal(address, bytes, writes); }

  // Describes an address that the kernel may not access, for example as "the completion signal of its dispatch".
  std::string describe(uint64_t address) const;

 private:
  AccessWindow without_arguments(AccessWindow window, uint64_t address) const;

  const WritableMemory& memory_;
  bool confines_;
  bool reads_packet_ = false, reads_queue_ = false;
  DispatchRequest request_{};
  uint64_t argument_bytes_ = 0;
  AccessWindow arguments_;  // the piece of memory that holds the arguments
};

}  // namespace rpd
