// Private memory on targets without architected flat scratch (gfx90a, gfx1030), as kernels see it: a buffer resource
// descriptor, which the dispatcher puts into the first four SGPRs (LLVM AMDGPUUsage, "Private Segment Buffer").
//
// The buffer is swizzled: within the part that belongs to a 64-lane wave, dword i of lane l is at 256 * i + 4 * l. The scalar
// offset is not swizzled. It counts the bytes of all lanes, so 1/64 of it (1/32 with 32 lanes) is the offset within each lane's
// memory. In this model each wave has its own private memory, [lane][byte]; the buffer's base is an address that no memory can
// have, and every wave's offset in the buffer is 0.
#pragma once

#include <cstdint>

#include "exec/wave.h"

namespace rpd {

constexpr uint64_t kPrivateBuffer = 0xffff'0000'0000;  // 48 bits, with the sign bit set: no user memory has such an address
constexpr uint64_t kPrivateBufferBytes = uint64_t{1} << 32;
constexpr uint32_t kPrivateBufferFlags = 1u << 31;  // in the second word: swizzled
constexpr uint32_t kPrivateBufferFormat = 1u << 23;  // in the last word: adds the lane's number to the index

inline void set_private_buffer(Wave& wave, unsigned first_sgpr) {
  wave.set_scalar64(first_sgpr, kPrivateBuffer | uint64_t{kPrivateBufferFlags} << 32);
  const uint32_t index_stride = wave.has_32_lanes() ? 2 : 3;
  wave.set_scalar64(first_sgpr + 2, (kPrivateBufferBytes - 1) | uint64_t{kPrivateBufferFormat | index_stride << 21} << 32);
}

inline bool is_private_buffer(uint64_t base) { return base - kPrivateBuffer < kPrivateBufferBytes; }

// The offset in each lane's private memory that corresponds to an unswizzled offset in the buffer.
inline uint64_t private_offset(const Wave& wave, uint64_t base, uint64_t scalar_offset) {
  return (base - kPrivateBuffer + scalar_offset) / static_cast<uint64_t>(wave.lane_count());
}

}  // namespace rpd
