// Compares the memory after a replay with the memory that was captured after the kernel had run, either byte by byte or number
// by number with a tolerance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/exact_memory.h"

namespace rpd::replay {

enum class Number { f16, bf16, f32, f64 };

// How much numbers of this type may differ in the allocation (or region) at `address` (0: everywhere): |a - b| <= relative *
// max(|a|, |b|) + absolute. A NaN equals only a NaN with exactly the same bits.
struct Tolerance {
  uint64_t address = 0;
  Number type = Number::f32;
  double relative = 0, absolute = 0;
};

// "[0xADDRESS:]f32=RELATIVE[,ABSOLUTE]". Throws std::invalid_argument.
Tolerance tolerance_from(const std::string& text);

struct RegionVerdict {
  uint64_t base = 0, bytes = 0;
  capture::Kind kind{};
  uint64_t expected_changes = 0;  // bytes that the captured kernel changed
  uint64_t differing_bytes = 0;   // bytes not equal to the captured ones, whatever the tolerance
  uint64_t beyond = 0;            // differing bytes in numbers beyond the tolerance; without one, all differing bytes
  uint64_t first_difference = 0;  // address of the first byte counted in `beyond`; 0 if there is none
  double largest_error = 0;       // largest relative error of the numbers that were compared with a tolerance
};

struct Comparison {
  bool equal = true;
  std::vector<RegionVerdict> regions;  // all regions
};

Comparison compare(ExactMemory& memory, Image& image, const capture::Capture& capture,
                   const std::vector<Tolerance>& tolerances);

}  // namespace rpd::replay
