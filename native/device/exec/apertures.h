// Where the LDS and private memory appear in the flat address space (where ROCr's thunk puts them for a model).
#pragma once

#include <cstdint>

namespace rpd {

constexpr uint64_t kSharedAperture = 0x4000000000000000ull;
constexpr uint64_t kPrivateAperture = 0x5000000000000000ull;
constexpr uint64_t kApertureMask = 0xffffffff00000000ull;

}  // namespace rpd
