// Where the program's dispatches had their arguments. A runtime copies them into pools of its own, together with whatever its
// host memory held between them: of such an allocation it means nothing that two runs hold other bytes in it.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/format.h"

namespace rpd::isolate {

void note_arguments(const void* kernarg);

// The addresses of the allocations that held the arguments of any dispatch so far.
std::vector<uint64_t> argument_allocations(const std::vector<capture::Region>& regions);

}  // namespace rpd::isolate
