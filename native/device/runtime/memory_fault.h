// What a kernel gets for an access to device memory that is not there.
#pragma once

#include <cstdint>

namespace rpd {

// From now on an access to unmapped memory in this aperture, which only a kernel or a copy can make, ends the
// process with one line that says which device address it was, as a memory access fault does on a real device.
// Other faults go where they went before.
void report_memory_faults_in(void* aperture, uint64_t size);

}  // namespace rpd
