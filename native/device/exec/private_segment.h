// Private memory of targets without architected flat scratch (gfx90a, gfx1030), as kernels see it: a buffer resource
// descriptor, which the dispatcher puts into the first four SGPRs (LLVM AMDGPUUsage, "Private Segment Buffer").
//
// The buffer is swizzled: dword i of lane l is at 256 * i + 4 * l of the share of a wave of 64 lanes. The scalar offset is not,
// so it counts the bytes of all lanes, 1/64 of which (1/32 with 32 lanes) belongs to each lane. Here each wave
// has private memory of its own, [lane] [byte]; the buffer has a base that no memory can have, and every wave's offset in it is
// 0.
#pragma once

#include <cstdint>

#include "exec/wave.h"

namespace rpd {

constexpr uint64_t kPrivateBuffer = 0xffff'0000'0000;  // 48 bits, with the sign bit: no user memory has such addresses
constexpr uint64_t kPrivateBufferBytes = uint64_t{1} << 32;
constexpr uint32_t kPrivateBufferFlags = 1u << 31;  // in the second word: it is swizzled
constexpr uint32_t kPrivateBufferFormat = 1u << 23;  // in the last: by lanes, of which those of a wave are kept together

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
