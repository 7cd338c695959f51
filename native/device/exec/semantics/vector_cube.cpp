// Cube maps: which of the six faces the direction (x, y, z) hits, and where. Follows AMD's pseudo-code for CDNA3.
#include <cmath>

#include "exec/floating_point.h"
#include "exec/lane_function.h"

namespace rpd {
namespace {

enum Axis { kX, kY, kZ };

Axis major_axis(float x, float y, float z) {
  if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) return kZ;
  return std::fabs(y) >= std::fabs(x) ? kY : kX;
}
float along(Axis axis, float x, float y, float z) { return axis == kX ? x : axis == kY ? y : z; }

struct Face {
  Axis axis;
  bool negative;
};
Face face_of(float x, float y, float z) {
  const Axis axis = major_axis(x, y, z);
  return {axis, along(axis, x, y, z) < 0};
}

// +x, -x, +y, -y, +z, -z
float face_number(float x, float y, float z) {
  const Face face = face_of(x, y, z);
  return static_cast<float>(2 * face.axis + face.negative);
}
float horizontal(float x, float y, float z) {
  const Face face = face_of(x, y, z);
  switch (face.axis) {
    case kX: return face.negative ? z : -z;
    case kY: return x;
    default: return face.negative ? -x : x;
  }
}
float vertical(float x, float y, float z) {
  const Face face = face_of(x, y, z);
  if (face.axis == kY) return face.negative ? -z : z;
  return -y;
}
float twice_major(float x, float y, float z) { return 2 * along(major_axis(x, y, z), x, y, z); }

template <float (*F)(float, float, float)>
constexpr Semantics cube(const char* name) {
  return vector<[](float x, float y, float z) {
    const float result = F(x, y, z);
    return settle_nan(result, result);
  }>(name);
}

const Semantics kTable[] = {
    cube<face_number>("v_cubeid_f32"),
    cube<horizontal>("v_cubesc_f32"),
    cube<vertical>("v_cubetc_f32"),
    cube<twice_major>("v_cubema_f32"),
};

}  // namespace

std::span<const Semantics> vector_cube_semantics() { return kTable; }

}  // namespace rpd
