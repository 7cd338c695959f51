// Kernel arguments that look like pointers to memory of this process that is in no region.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "capture/code_metadata.h"
#include "capture/format.h"

namespace rpd::isolate {

// Described, one text each. Only arguments that the compiler knows to be pointers are looked at; those inside structures
// and in memory are not found.
std::vector<std::string> loose_pointers(std::span<const unsigned char> kernarg, const capture::KernelMetadata& kernel,
                                        const std::vector<capture::Region>& regions);

}  // namespace rpd::isolate
