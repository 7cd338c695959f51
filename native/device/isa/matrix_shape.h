// How much arithmetic a matrix instruction is.
#pragma once

#include <cstdio>
#include <string_view>

#include "isa/semantics.h"

namespace rpd {

// Multiplications and additions of one execution, from the name: "v_mfma_f32_16x16x16_f16" is 2*16*16*16.
// 0 if it is no matrix instruction.
inline double matrix_operations(const Semantics& semantics) {
  if (semantics.unit != Unit::Matrix) return 0;
  int m = 0, n = 0, k = 0, blocks = 1;
  const std::string_view name = semantics.mnemonic;
  const auto shape = name.find('_', sizeof "v_mfma_" - 1);
  if (shape == std::string_view::npos) return 0;
  if (std::sscanf(semantics.mnemonic + shape + 1, "%dx%dx%d_%db", &m, &n, &k, &blocks) < 3) return 0;
  return 2.0 * m * n * k * blocks;
}

}  // namespace rpd
