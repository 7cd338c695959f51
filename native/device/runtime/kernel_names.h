// Names of kernels, for messages: the device itself only ever sees the addresses of their descriptors.
#pragma once

#include <cstdint>
#include <string>

namespace rpd {

// Demangled; "kernel at 0x..." if it was not loaded through ROCr's loader after the hooks were in place.
std::string kernel_name(uint64_t kernel_object);

}  // namespace rpd
