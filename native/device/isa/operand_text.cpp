#include "isa/operand_text.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <string>

#include "memory/address_space.h"

namespace rpd {
namespace {

struct NamedRegister {
  const char* name;
  uint16_t reg;
  uint8_t dwords;
};

constexpr NamedRegister kNamed[] = {
    {"vcc", kVcc, 2},
    {"vcc_lo", kVcc, 1},
    {"vcc_hi", kVcc + 1, 1},
    {"exec", kExec, 2},
    {"exec_lo", kExec, 1},
    {"exec_hi", kExec + 1, 1},
    {"flat_scratch", kFlatScratch, 2},
    {"flat_scratch_lo", kFlatScratch, 1},
    {"flat_scratch_hi", kFlatScratch + 1, 1},
    {"xnack_mask", kXnackMask, 2},
    {"xnack_mask_lo", kXnackMask, 1},
    {"xnack_mask_hi", kXnackMask + 1, 1},
    {"m0", kM0, 1},
};

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// "3" or "[2:3]" after a register letter.
bool parse_range(std::string_view text, uint16_t first_number, Operand& out) {
  int first, last;
  if (const auto single = to_int(text)) {
    first = last = *single;
  } else {
    if (text.size() < 5 || text.front() != '[' || text.back() != ']') return false;
    text = text.substr(1, text.size() - 2);
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return false;
    const auto begin = to_int(text.substr(0, colon));
    const auto end = to_int(text.substr(colon + 1));
    if (!begin || !end || *end < *begin) return false;
    first = *begin;
    last = *end;
  }
  out.reg = static_cast<uint16_t>(first_number + first);
  out.dwords = static_cast<uint8_t>(last - first + 1);
  return true;
}

bool parse_register(std::string_view text, Operand& out) {
  for (const auto& named : kNamed) {
    if (text != named.name) continue;
    out.kind = Operand::Kind::Scalar;
    out.reg = named.reg;
    out.dwords = named.dwords;
    return true;
  }
  if (text.starts_with("ttmp")) {
    out.kind = Operand::Kind::Scalar;
    return parse_range(text.substr(4), kTtmp0, out);
  }
  switch (text.empty() ? '\0' : text[0]) {
    case 'v': out.kind = Operand::Kind::Vector; break;
    case 'a': out.kind = Operand::Kind::Accumulator; break;
    case 's': out.kind = Operand::Kind::Scalar; break;
    default: return false;
  }
  return parse_range(text.substr(1), 0, out);
}

bool parse_state(std::string_view text, Operand& out) {
  if (text == "src_scc") out.kind = Operand::Kind::Scc;
  else if (text == "src_vccz") out.kind = Operand::Kind::Vccz;
  else if (text == "src_execz") out.kind = Operand::Kind::Execz;
  else return false;
  return true;
}

// `null` reads as 0, and writes to it have no effect.
bool parse_null(std::string_view text, Operand& out) {
  if (text != "null") return false;
  out.kind = Operand::Kind::Constant;
  out.reg = kNull;
  return true;
}

bool is_wide(Type type) { return type == Type::B64 || type == Type::I64 || type == Type::F64; }

// Apertures can be read as 64-bit values only; the result of a 32-bit read is not documented.
bool parse_aperture(std::string_view text, Type type, Operand& out) {
  if (!is_wide(type)) return false;
  if (text == "src_shared_base") out.constant = kSharedAperture;
  else if (text == "src_private_base") out.constant = kPrivateAperture;
  else return false;
  out.kind = Operand::Kind::Constant;
  return true;
}

uint64_t float_constant(double value, Type type) {
  switch (type) {
    case Type::B16:
    case Type::F16:
    case Type::PackedF16: return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    case Type::B64:
    case Type::I64:
    case Type::F64: return std::bit_cast<uint64_t>(value);
    default: return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
}

// A 32-bit literal becomes the upper half of a double; for i64 it is sign-extended, and otherwise zero-extended.
uint64_t literal_constant(uint32_t value, Type type) {
  if (type == Type::F64) return static_cast<uint64_t>(value) << 32;
  if (type == Type::I64) return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
  return value;
}

bool parse_number(const std::string& text, Type type, Operand& out) {
  out.kind = Operand::Kind::Constant;
  char* end = nullptr;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("-0x");
  if (!hexadecimal && text.find_first_of(".eE") != std::string::npos) {
    const double value = std::strtod(text.c_str(), &end);
    out.constant = float_constant(value, type);
  } else {
    const long long value = std::strtoll(text.c_str(), &end, 0);
    out.constant = text.starts_with("0x") ? literal_constant(static_cast<uint32_t>(value), type) : static_cast<uint64_t>(value);
  }
  return end != text.c_str() && *end == '\0';
}

}  // namespace

std::optional<Operand> resolve_operand(const OperandText& text, Type type) {
  Operand out;
  out.negate = text.negate;
  out.absolute = text.absolute;
  out.sign_extend = text.sign_extend;
  if (text.text == "off") return out;
  if (parse_register(text.text, out) || parse_null(text.text, out)) return out;
  if (parse_state(text.text, out) || parse_aperture(text.text, type, out)) return out;
  if (parse_number(text.text, type, out)) return out;
  return std::nullopt;
}

}  // namespace rpd
