// The events that instructions report to counting and timing code. Observers do not change what is computed, except
// for the value of a clock that a kernel reads.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/wave.h"
#include "isa/semantics.h"

namespace rpd {

// How the addresses of an access's lanes are related. With any pattern except Any, the lanes need not be examined one by one.
enum class LanePattern : uint8_t {
  Any,
  Consecutive,  // all lanes take part, at consecutive addresses
  Same,         // all lanes that take part have the same address
  Rows,         // all lanes take part; those of each row are at consecutive addresses, or (in all rows) at the same address
};

// Whether each lane's address is `bytes` above that of the previous lane.
inline bool are_consecutive(const uint64_t* address, uint64_t bytes) {
  uint64_t differ = 0;
  for (int l = 0; l < kLanes; ++l) differ |= address[l] ^ (address[0] + l * bytes);
  return differ == 0;
}

inline bool are_same(const uint64_t* address, uint64_t mask) {
  const uint64_t first = address[std::countr_zero(mask) % kLanes];
  uint64_t differ = 0;
  for (int l = 0; l < kLanes; ++l) differ |= mask >> l & 1 ? address[l] ^ first : 0;
  return differ == 0;
}

inline LanePattern pattern_of(const uint64_t* address, uint64_t mask, uint64_t bytes) {
  if (mask != ~uint64_t{0}) return are_same(address, mask) ? LanePattern::Same : LanePattern::Any;
  const uint64_t step = address[1] - address[0];
  if (step == bytes && are_consecutive(address, bytes)) return LanePattern::Consecutive;
  return step == 0 && are_same(address, mask) ? LanePattern::Same : LanePattern::Any;
}

enum class AccessKind : uint8_t { Load, Store, Atomic };

struct VectorAccess {
  AccessKind kind;
  Space space;             // Global, Scratch or Lds; Flat is already resolved
  uint32_t bytes;          // per lane
  uint64_t mask;           // lanes that take part
  // Device addresses, or byte offsets in the LDS or in private memory: for LanePattern::Any of each lane, for LanePattern::Rows
  // of each row's first lane.
  const uint64_t* address;
  LanePattern pattern = LanePattern::Any;  // Any if the pattern has not been determined
  uint64_t first = 0;  // for the other patterns: the address of the first lane that takes part
  uint32_t step = 0;  // for LanePattern::Rows: how far apart a row's lanes are, `bytes` or 0

  bool consecutive() const { return pattern == LanePattern::Consecutive; }
  // The address of a lane that takes part.
  uint64_t at(int lane) const {
    switch (pattern) {
      case LanePattern::Any: return address[lane];
      case LanePattern::Consecutive: return first + static_cast<uint64_t>(lane) * bytes;
      case LanePattern::Same: return first;
      case LanePattern::Rows: return address[lane / kRowLanes] + static_cast<uint64_t>(lane) % kRowLanes * step;
    }
    return first;
  }
  // For LanePattern::Rows: how many bytes a row spans.
  uint64_t row_bytes() const { return uint64_t{step} * (kRowLanes - 1) + bytes; }
};

// Determines the pattern. `mask` must not be 0.
inline VectorAccess access_to(Space space, AccessKind kind, uint32_t bytes, uint64_t mask, const uint64_t* address) {
  return {kind, space, bytes, mask, address, pattern_of(address, mask, bytes), address[std::countr_zero(mask)]};
}

class InstructionObserver {
 public:
  virtual ~InstructionObserver() = default;
  virtual void vector_access(Wave& wave, const Op& op, const VectorAccess& access) = 0;
  virtual void scalar_access(Wave& wave, uint64_t address, uint32_t bytes) = 0;
  // A cache write-back or invalidation at agent or system scope: half of a release or half of an acquire, respectively.
  virtual void fence(Wave&, const Op&) {}
  virtual void wait(Wave& wave, const WaitCounts& limits) = 0;
  // The value that the wave reads from the clock.
  virtual uint64_t clock(Wave&) { return 0; }
};

}  // namespace rpd
