// Names of kernels, for messages: the device itself only ever sees the addresses of their descriptors.
#pragma once

#include <cstdint>
#include <string>

namespace rpd {

// Demangled; "kernel at 0x..." if it was not loaded through ROCr's loader after the hooks were in place.
std::string kernel_name(uint64_t kernel_object);

// The symbol of its code, mangled; empty if it is not known.
std::string kernel_symbol(uint64_t kernel_object);
std::string demangled_name(const std::string& symbol);

}  // namespace rpd
