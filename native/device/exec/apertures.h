// Where the LDS and private memory appear in the flat address space (as the kernel driver sets them on gfx9).
#pragma once

#include <cstdint>

namespace rpd {

constexpr uint64_t kSharedAperture = 0x1000000000000ull;
constexpr uint64_t kPrivateAperture = 0x2000000000000ull;
constexpr uint64_t kApertureMask = 0xffffffff00000000ull;

}  // namespace rpd
