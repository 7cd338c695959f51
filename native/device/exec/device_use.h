// How much of a device a dispatch uses while it runs.
#pragma once

#include <array>
#include <cstddef>

namespace rpd {

// Shares of the whole device (0 to 1), averaged over the dispatch.
struct DeviceUse {
  enum Resource : size_t {
    kSlots,     // space for workgroups on the CUs
    kUnits,     // of each CU the busiest unit, scalar units left out
    kL2,        // bandwidth of the L2s
    kMemory,    // bandwidth beyond the L2s
    kLinks,     // bandwidth of the busiest link, to the host or another device
    kResources
  };
  std::array<double, kResources> shares{};
};

}  // namespace rpd
