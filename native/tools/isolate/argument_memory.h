// Records where the arguments of the program's dispatches were stored. The HIP runtime copies them into its own pools, along
// with whatever lay between them in its host memory, so if such an allocation differs between two runs, that means nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/format.h"

namespace rpd::isolate {

void note_arguments(const void* kernarg);

// The addresses of the allocations that have held the arguments of any dispatch so far.
std::vector<uint64_t> argument_allocations(const std::vector<capture::Region>& regions);

}  // namespace rpd::isolate
