// How long the LDS's banks are busy with an access.
#pragma once

#include <cstdint>

#include "exec/observer.h"

namespace rpd {

struct LdsPasses {
  uint64_t passes = 0;          // that any lane takes part in
  uint64_t cycles = 0;          // of them all
  uint64_t bank_conflicts = 0;  // of the cycles, those for further words of one bank
};

LdsPasses lds_passes(const VectorAccess& access);

}  // namespace rpd
