// How long an access keeps the banks of the LDS busy.
#pragma once

#include <cstdint>

#include "exec/observer.h"

namespace rpd {

struct LdsPasses {
  uint64_t passes = 0;          // in which any lane takes part
  uint64_t cycles = 0;          // of all passes
  uint64_t bank_conflicts = 0;  // cycles spent on further words of the same bank
};

LdsPasses lds_passes(const VectorAccess& access);

}  // namespace rpd
