// What a loaded code object says about an address within it. The loader copies a code object's segments (the first one begins
// with the ELF header) into unprotected memory, so a GPU can execute any of them.
#pragma once

#include <cstdint>
#include <optional>

#include "memory/address_space.h"

namespace rpd {

struct LoadedSegment {
  uint64_t begin = 0, end = 0;
  bool executable = false;
  bool holds(uint64_t address) const { return begin <= address && address < end; }
};

// The segment that contains `address`; nothing if no code object is loaded there. If several headers claim the address, a
// header that calls it data takes precedence, since data can look like a header.
std::optional<LoadedSegment> loaded_segment(const AddressSpace& memory, uint64_t address);

}  // namespace rpd
