// The 8-bit floats of gfx942 (FNUZ): no infinities, no negative zero, and a single NaN, encoded as negative zero would be
// (0x80).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "exec/floating_point.h"

namespace rpd {

template <int MantissaBits, int Bias>
class SmallFloat {
 public:
  static float widen(uint8_t bits) { return kWide[bits]; }

  // Rounds to nearest even. Values that are too large become the largest number if `saturates`, else NaN; infinities always
  // become NaN.
  static uint8_t narrow(float v, bool saturates) {
    const Parts parts(v);
    const uint32_t below = (1u << (kDropped - 1)) - 1;
    const uint32_t aligned = parts.significand >> parts.alignment;
    const bool sticky = aligned << parts.alignment != parts.significand;
    const uint32_t odd = aligned >> kDropped & 1;
    return assemble(parts, (aligned + below + (odd | sticky)) >> kDropped, saturates);
  }

  // Adds the upper bits of `random` (S1[31:12] or S1[31:11] in the pseudo-code) below the last bit that is kept, then
  // truncates. Bits lost while a denormal result is aligned are ignored, as in AMD's amd_hip_fp8.h.
  static uint8_t narrow_stochastically(float v, uint32_t random, bool saturates) {
    const Parts parts(v);
    const uint32_t aligned = parts.significand >> parts.alignment;
    return assemble(parts, (aligned + (random >> (32 - kDropped))) >> kDropped, saturates);
  }

 private:
  static constexpr int kDropped = FloatBits<float>::mantissa - MantissaBits;
  static constexpr uint8_t kNan = 0x80;
  static constexpr uint32_t kMaxFinite = 0x7f;

  struct Parts {
    uint32_t sign;  // as bit 7
    bool finite;
    uint32_t significand;  // including its leading one
    uint32_t exponent;     // biased as in the result, at least 1
    uint32_t alignment;    // by how much the significand is shifted right for that exponent

    explicit Parts(float v) : sign(bits_of(v) >> 24 & 0x80), finite(biased_exponent(v) != 0xff) {
      const int biased = biased_exponent(v);
      const int wanted = biased - 127 + Bias;
      significand = (bits_of(v) & kMantissaMask<float>) | (biased ? 1u << FloatBits<float>::mantissa : 0);
      exponent = static_cast<uint32_t>(std::max(wanted, 1));
      alignment = static_cast<uint32_t>(std::clamp(1 - wanted, 0, 31));
    }
  };

  // `rounded` includes the leading one of a normal number, which adds one to the exponent field.
  static uint8_t assemble(const Parts& parts, uint32_t rounded, bool saturates) {
    if (!parts.finite) return kNan;
    const uint32_t magnitude = ((parts.exponent - 1) << MantissaBits) + rounded;
    if (magnitude > kMaxFinite) return saturates ? static_cast<uint8_t>(parts.sign | kMaxFinite) : kNan;
    return static_cast<uint8_t>(magnitude ? parts.sign | magnitude : 0);
  }

  static constexpr float widened(uint8_t bits) {
    if (bits == kNan) return default_nan<float>();
    uint32_t exponent = bits >> MantissaBits & ((1u << (7 - MantissaBits)) - 1);
    uint32_t significand = bits & ((1u << MantissaBits) - 1);
    if (exponent == 0 && significand == 0) return 0.0f;
    if (exponent) significand |= 1u << MantissaBits;
    else exponent = 1;
    while (!(significand >> MantissaBits)) significand <<= 1, --exponent;
    const uint32_t mantissa = (significand & ((1u << MantissaBits) - 1)) << kDropped;
    return from_bits<float>((bits & 0x80u) << 24 | (exponent + 127 - Bias) << FloatBits<float>::mantissa | mantissa);
  }

  static constexpr std::array<float, 256> kWide = [] {
    std::array<float, 256> table{};
    for (int i = 0; i < 256; ++i) table[i] = widened(static_cast<uint8_t>(i));
    return table;
  }();
};

using Fp8 = SmallFloat<3, 8>;   // E4M3
using Bf8 = SmallFloat<2, 16>;  // E5M2

}  // namespace rpd
