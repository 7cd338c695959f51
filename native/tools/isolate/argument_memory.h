// Records where the arguments of the program's dispatches were. A runtime copies them into pools of its own, along with
// whatever its host memory held between them, so it means nothing if such an allocation differs between two runs.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/format.h"

namespace rpd::isolate {

void note_arguments(const void* kernarg);

// The addresses of the allocations that have held the arguments of any dispatch so far.
std::vector<uint64_t> argument_allocations(const std::vector<capture::Region>& regions);

}  // namespace rpd::isolate
