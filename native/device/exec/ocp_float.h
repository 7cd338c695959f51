// The small floats of the Open Compute Project (OCP). On gfx950, OCP's 8-bit floats (OFP8) replace gfx942's FNUZ floats
// (fnuz_float.h). The 6-bit and 4-bit floats come from OCP's microscaling formats.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "exec/floating_point.h"

namespace rpd {

// Which values are not finite numbers: those with the largest exponent, as in IEEE 754; one NaN of each sign; or none.
enum class Specials { Ieee, OneNan, None };

template <int ExponentBits, int MantissaBits, Specials kSpecials>
class OcpFloat {
 public:
  static constexpr int kBits = 1 + ExponentBits + MantissaBits;

  static float widen(uint32_t bits) { return kWide[bits & ((1u << kBits) - 1)]; }

  // Rounds to nearest even. If `saturates`, values that are too large become the largest number. Otherwise, and always for
  // infinities, the result is infinity, or NaN in a format without infinity, or the largest number in a format with neither.
  static uint8_t narrow(double v, bool saturates) {
    return assemble(v, saturates, [](double quanta) { return std::nearbyint(quanta); });
  }

  // Adds the upper bits of `random` to the bits below the last one that is kept, then truncates.
  static uint8_t narrow_stochastically(double v, uint32_t random, bool saturates) {
    return assemble(v, saturates, [random](double quanta) {
      const auto bits = static_cast<uint64_t>(std::ldexp(quanta, kDropped));
      return static_cast<double>((bits + (random >> (32 - kDropped))) >> kDropped);
    });
  }

 private:
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kDropped = FloatBits<float>::mantissa - MantissaBits;
  static constexpr uint32_t kSign = 1u << (kBits - 1);
  static constexpr uint32_t kInfinity = ((1u << ExponentBits) - 1) << MantissaBits;
  static constexpr uint32_t kMaxFinite =
      kSpecials == Specials::Ieee ? kInfinity - 1 : kSign - 1 - (kSpecials == Specials::OneNan);
  static constexpr uint32_t kNan = kSpecials == Specials::Ieee ? kSign - 1 : kMaxFinite + 1;

  static constexpr uint32_t beyond(bool is_nan) {
    if (kSpecials == Specials::None) return kMaxFinite;
    return is_nan || kSpecials == Specials::OneNan ? kNan : kInfinity;
  }

  // `round` takes a magnitude in units of the last bit that is kept, and rounds it to a whole number.
  template <class Round>
  static uint8_t assemble(double v, bool saturates, Round round) {
    const uint32_t sign = std::signbit(v) ? kSign : 0;
    if (!std::isfinite(v)) return static_cast<uint8_t>(sign | beyond(std::isnan(v)));
    if (v == 0) return static_cast<uint8_t>(sign);
    const int exponent = std::max(std::ilogb(v), 1 - kBias);
    const double rounded = round(std::ldexp(std::fabs(v), MantissaBits - exponent));
    // The leading one of a normal number adds one to the exponent field; so does a carry.
    const double magnitude = std::ldexp(exponent + kBias - 1, MantissaBits) + rounded;
    if (magnitude > kMaxFinite) return static_cast<uint8_t>(sign | (saturates ? kMaxFinite : beyond(false)));
    return static_cast<uint8_t>(sign | static_cast<uint32_t>(magnitude));
  }

  static constexpr float widened(uint32_t bits) {
    const uint32_t magnitude = bits & (kSign - 1);
    if (kSpecials != Specials::None && magnitude > kMaxFinite) {
      if (kSpecials == Specials::OneNan || magnitude > kInfinity) return default_nan<float>();
      return bits & kSign ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    }
    const uint32_t exponent = magnitude >> MantissaBits, fraction = magnitude & ((1u << MantissaBits) - 1);
    float value = static_cast<float>(exponent ? fraction | 1u << MantissaBits : fraction);
    for (int e = static_cast<int>(exponent ? exponent : 1) - kBias - MantissaBits; e != 0; e += e < 0 ? 1 : -1)
      value = e < 0 ? value / 2 : value * 2;
    return bits & kSign ? -value : value;
  }

  static constexpr std::array<float, 1 << kBits> kWide = [] {
    std::array<float, 1 << kBits> table{};
    for (uint32_t i = 0; i < table.size(); ++i) table[i] = widened(i);
    return table;
  }();
};

using OcpFp8 = OcpFloat<4, 3, Specials::OneNan>;
using OcpBf8 = OcpFloat<5, 2, Specials::Ieee>;
using OcpFp6 = OcpFloat<2, 3, Specials::None>;
using OcpBf6 = OcpFloat<3, 2, Specials::None>;
using OcpFp4 = OcpFloat<2, 1, Specials::None>;

}  // namespace rpd
