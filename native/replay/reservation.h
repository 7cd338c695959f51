// Keeps addresses of this process free for the memory of a capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpd::replay {

enum class Outcome { exact, relocated, failed };

struct Placement {
  uint64_t base = 0, bytes = 0;
  Outcome outcome = Outcome::exact;
  uint64_t actual = 0;  // the actual address, for exact and relocated
  std::string why{};
};

// Reserves each range at its own addresses, without allocating memory. To be called before hsa_init, so that ROCr uses other
// addresses. Ranges that cannot be reserved at exactly these addresses are left unreserved.
std::vector<Placement> reserve(const std::vector<Placement>& ranges);

// The worst of the placements' outcomes.
Outcome worst(const std::vector<Placement>& placements);
const Placement* first_not_exact(const std::vector<Placement>& placements);

const char* name_of(Outcome outcome);
std::string hex(uint64_t value);

}  // namespace rpd::replay
