// Confines the writes of a device's kernels to memory that belongs to their program (the option write-check).
#pragma once

#include <cstdint>
#include <string>

#include "exec/dispatch.h"
#include "memory/program_memory.h"

namespace rpd {

struct Kernel;

class WriteGuard {
 public:
  explicit WriteGuard(const ProgramMemory& memory) : memory_(memory) {}

  // Checks for this kernel from now on.
  void begin(const Kernel& kernel);

  // The part of `mapped`, a window around `address`, that the kernel may write; empty if the address is not in it.
  AccessWindow window(uint64_t address, AccessWindow mapped) const;
  // Whether the address belongs to a signal that a kernel may raise.
  bool may_signal(uint64_t address, uint32_t bytes) const { return memory_.may_signal(address, bytes); }

  // "the completion signal of its dispatch", or whatever else is known about an address that the kernel may not write.
  std::string describe(uint64_t address) const;

 private:
  const ProgramMemory& memory_;
  DispatchRequest request_{};
  uint64_t argument_bytes_ = 0;
};

}  // namespace rpd
