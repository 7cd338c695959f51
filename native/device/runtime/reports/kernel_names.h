// Kernel names for messages: the device itself sees only the addresses of kernel descriptors.
#pragma once

#include <cstdint>
#include <string>

namespace rpd {

// The word "kernel" and the demangled name; "kernel at 0x..." if the kernel was not loaded through ROCr's loader after the
// hooks were installed.
std::string kernel_name(uint64_t kernel_object);

// The mangled symbol of the kernel's code; empty if unknown.
std::string kernel_symbol(uint64_t kernel_object);
std::string demangled_name(const std::string& symbol);

}  // namespace rpd
