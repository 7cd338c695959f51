#pragma once

#include <cstdint>

namespace rpd {

// LDS is handed out in granules of 512 bytes (COMPUTE_PGM_RSRC2.LDS_SIZE, 128 dwords on gfx9).
constexpr uint32_t allocated_lds(uint32_t bytes) {
  constexpr uint32_t granule = 512;
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace rpd
