// The formats of buffer elements: how many components they have, how wide these are, and their number type (gfx9's encoding).
#pragma once

#include <array>
#include <cstdint>

namespace rpd {

enum class NumberFormat : uint8_t { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Reserved, Float };

constexpr int kComponents = 4;

class BufferFormat {
 public:
  BufferFormat(uint32_t data, uint32_t number) : data_(data & 15), number_(static_cast<NumberFormat>(number & 7)) {}

  // The size of an element; 0 for a format without components: such an element is read as 0, and nothing is written to it.
  uint32_t bytes() const;
  bool exists() const;
  bool is_integer() const { return number_ == NumberFormat::Uint || is_signed_integer(); }
  bool is_signed_integer() const { return number_ == NumberFormat::Sint; }

  // Convert between an element in memory and its components in registers: single-precision floats or 32-bit integers.
  std::array<uint32_t, kComponents> unpack(const uint8_t* element) const;
  void pack(const std::array<uint32_t, kComponents>& components, uint8_t* element) const;

 private:
  uint32_t data_;
  NumberFormat number_;
};

}  // namespace rpd
