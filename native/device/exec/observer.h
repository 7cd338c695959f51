// The events that instructions report to counting and timing code. Observers never change what is computed.
#pragma once

#include <cstdint>

#include "exec/wave.h"
#include "isa/semantics.h"

namespace rpd {

// Whether each lane's address is `bytes` above that of the lane before.
inline bool are_consecutive(const uint64_t* address, uint64_t bytes) {
  uint64_t differ = 0;
  for (int l = 0; l < kLanes; ++l) differ |= address[l] ^ (address[0] + l * bytes);
  return differ == 0;
}

enum class AccessKind : uint8_t { Load, Store, Atomic };

struct VectorAccess {
  AccessKind kind;
  Space space;             // Global, Scratch or Lds; Flat is already resolved
  uint32_t bytes;          // per lane
  uint64_t mask;           // lanes that take part
  const uint64_t* address; // [lane]: device address, or byte offset in the LDS or in private memory

  // The common case, in which lanes need not be examined one by one: all take part, each following the one before.
  bool consecutive() const { return mask == ~uint64_t{0} && are_consecutive(address, bytes); }
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void vector_access(Wave& wave, const Op& op, const VectorAccess& access) = 0;
  virtual void scalar_access(Wave& wave, uint64_t address, uint32_t bytes) = 0;
  // A cache write-back or invalidation: half of a release or an acquire at agent or system scope.
  virtual void fence(Wave&, const Op&) {}
  virtual void wait(Wave& wave, unsigned vector_left, unsigned scalar_left) = 0;
  // The value that the wave reads from the clock.
  virtual uint64_t clock(Wave&) { return 0; }
};

}  // namespace rpd
