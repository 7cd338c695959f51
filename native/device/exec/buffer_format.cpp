#include "exec/buffer_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/floating_point.h"

namespace rpd {
namespace {

// The widths of X, Y, Z and W, from the lowest bit up. The formats' names list them in reverse: 2_10_10_10 begins with W.
constexpr uint8_t kWidths[16][kComponents] = {
    {},
    {8},
    {16},
    {8, 8},
    {32},
    {16, 16},
    {11, 11, 10},
    {10, 11, 11},
    {2, 10, 10, 10},
    {10, 10, 10, 2},
    {8, 8, 8, 8},
    {32, 32},
    {16, 16, 16, 16},
    {32, 32, 32},
    {32, 32, 32, 32},
    {},
};

int64_t sign_extended(uint32_t raw, int width) { return static_cast<int32_t>(raw << (32 - width)) >> (32 - width); }
int64_t max_unsigned(int width) { return (int64_t{1} << width) - 1; }
int64_t max_signed(int width) { return (int64_t{1} << (width - 1)) - 1; }
uint32_t single(double value) { return bits_of(static_cast<float>(value)); }

// Floats with 11 or 10 bits are halves without the sign bit and the lowest bits of the mantissa.
int missing_bits(int width) { return 15 - width; }

uint32_t widen_float(uint32_t raw, int width) {
  if (width == 32) return raw;
  const uint32_t half = width == 16 ? raw : raw << missing_bits(width);
  return bits_of(static_cast<float>(from_bits<Half>(static_cast<uint16_t>(half))));
}

uint32_t widen(uint32_t raw, int width, NumberFormat number) {
  switch (number) {
    case NumberFormat::Unorm: return single(raw / static_cast<double>(max_unsigned(width)));
    case NumberFormat::Snorm: return single(std::max(-1.0, sign_extended(raw, width) / static_cast<double>(max_signed(width))));
    case NumberFormat::Uscaled: return single(raw);
    case NumberFormat::Sscaled: return single(static_cast<double>(sign_extended(raw, width)));
    case NumberFormat::Sint: return static_cast<uint32_t>(sign_extended(raw, width));
    case NumberFormat::Float: return widen_float(raw, width);
    default: return raw;
  }
}

// Clamps the value; NaN becomes 0.
double clamped(double value, double low, double high) { return is_nan(value) ? 0 : std::clamp(value, low, high); }
// Truncates, because formats that are not normalised drop the fraction.
uint32_t integer(double value) { return static_cast<uint32_t>(static_cast<int64_t>(value)); }

uint32_t narrow_float(uint32_t bits, int width) {
  if (width == 32) return bits;
  const auto value = from_bits<float>(bits);
  if (width == 16) return bits_of(static_cast<Half>(value));
  if (!(value > 0) && !is_nan(value)) return 0;
  const Half half = static_cast<Half>(value);
  const bool rounded_up = static_cast<float>(half) > value;  // the rounding is undone, because these formats truncate
  return static_cast<uint32_t>(bits_of(half) - rounded_up) >> missing_bits(width) & ((1u << width) - 1);
}

uint32_t narrow(uint32_t bits, int width, NumberFormat number) {
  const double value = from_bits<float>(bits);
  const int64_t maximum = max_signed(width);
  switch (number) {
    case NumberFormat::Unorm: return integer(std::nearbyint(clamped(value, 0, 1) * max_unsigned(width)));
    case NumberFormat::Snorm: return integer(std::nearbyint(clamped(value, -1, 1) * maximum));
    case NumberFormat::Uscaled: return integer(clamped(value, 0, max_unsigned(width)));
    case NumberFormat::Sscaled: return integer(clamped(value, -maximum - 1, maximum));
    case NumberFormat::Sint:
      return static_cast<uint32_t>(std::clamp<int64_t>(static_cast<int32_t>(bits), -maximum - 1, maximum));
    case NumberFormat::Float: return narrow_float(bits, width);
    default: return static_cast<uint32_t>(std::min<int64_t>(bits, max_unsigned(width)));
  }
}

using Element = unsigned __int128;

}  // namespace

uint32_t BufferFormat::bytes() const {
  uint32_t bits = 0;
  for (const int width : kWidths[data_]) bits += width;
  return bits / 8;
}

bool BufferFormat::exists() const {
  if (number_ == NumberFormat::Reserved) return false;
  const auto is_float = [](int width) { return width == 0 || width == 32 || width == 16 || width == 11 || width == 10; };
  return number_ != NumberFormat::Float || std::all_of(kWidths[data_], kWidths[data_] + kComponents, is_float);
}

std::array<uint32_t, kComponents> BufferFormat::unpack(const uint8_t* element) const {
  Element bits = 0;
  std::memcpy(&bits, element, bytes());
  std::array<uint32_t, kComponents> out{};
  for (int i = 0; i < kComponents && kWidths[data_][i]; ++i) {
    const int width = kWidths[data_][i];
    out[i] = widen(static_cast<uint32_t>(bits & max_unsigned(width)), width, number_);
    bits >>= width;
  }
  return out;
}

void BufferFormat::pack(const std::array<uint32_t, kComponents>& components, uint8_t* element) const {
  Element bits = 0;
  int bit = 0;
  for (int i = 0; i < kComponents && kWidths[data_][i]; ++i) {
    const int width = kWidths[data_][i];
    bits |= static_cast<Element>(narrow(components[i], width, number_) & max_unsigned(width)) << bit;
    bit += width;
  }
  std::memcpy(element, &bits, bytes());
}

}  // namespace rpd
