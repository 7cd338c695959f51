// How much arithmetic a matrix instruction is.
#pragma once

#include <cstdio>
#include <string_view>

#include "isa/semantics.h"

namespace rpd {

// M x N x K of a number of blocks; all 0 if it is no matrix instruction.
struct MatrixShape {
  int m = 0, n = 0, k = 0, blocks = 0;
  bool sparse = false;

  // Multiplications and additions of one execution: of a sparse one those that take place, half of all.
  double operations() const { return 2.0 * m * n * k * blocks / (sparse ? 2 : 1); }
};

// From the name, such as "v_mfma_f32_32x32x4_2b_f16".
inline MatrixShape matrix_shape(const Semantics& semantics) {
  MatrixShape shape;
  if (semantics.unit != Unit::Matrix) return shape;
  shape.blocks = 1;
  shape.sparse = std::string_view(semantics.mnemonic).starts_with("v_smfmac");
  std::sscanf(semantics.mnemonic, "v_%*[a-z]_%*[a-z0-9]_%dx%dx%d_%db", &shape.m, &shape.n, &shape.k, &shape.blocks);
  return shape;
}

inline double matrix_operations(const Semantics& semantics) { return matrix_shape(semantics).operations(); }

}  // namespace rpd
