// Finds kernel arguments that look like pointers to memory of this process that lies outside all regions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "capture/code_metadata.h"
#include "capture/format.h"

namespace rpd::isolate {

// Returns one description for each such argument. Examines only arguments that the compiler knows to be pointers; pointers
// inside structures and in memory are not found.
std::vector<std::string> uncaptured_pointers(std::span<const unsigned char> kernarg, const capture::KernelMetadata& kernel,
                                             const std::vector<capture::Region>& regions);

}  // namespace rpd::isolate
