// How long the copy engines take.
#pragma once

#include <cstdint>

namespace rpd {

// Nanoseconds for moving `bytes`; across the link between host and device, or within the device's memory.
uint64_t copy_duration_ns(uint64_t bytes, bool crosses_host_link);

}  // namespace rpd
