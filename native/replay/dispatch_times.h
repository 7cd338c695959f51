// How long a dispatch took, by times that lie in memory which its kernel can write: a GPU writes them into completion
// signals, and a kernel finds its own signal in its packet. So they are held against what it cannot write.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace rpd::replay {

// From one packet's completion signal, in ticks.
struct Stamps {
  uint64_t start = 0, end = 0;
};

// The times of a dispatch contradict each other.
struct Contradiction : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Milliseconds that the kernel took. before: of a barrier packet that had completed, and whose times had been read, before
// the kernel's packet was submitted; after: of one that completed after it. host_ms: by the host's clock, from ringing the
// doorbell for the kernel to seeing `after` complete. Throws Contradiction where the kernel's times lie outside of the two,
// end before they start, or make it run for longer than the host waited.
double kernel_milliseconds(const Stamps& before, const Stamps& kernel, const Stamps& after, uint64_t ticks_a_second,
                           double host_ms);

}  // namespace rpd::replay
