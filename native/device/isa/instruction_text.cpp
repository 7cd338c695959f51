#include "isa/instruction_text.h"

#include <cstdlib>

namespace rpd {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Splits at every `separator` that is outside brackets and parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      const auto part = trim(text.substr(begin, i - begin));
      if (!part.empty()) parts.push_back(part);
      begin = i + 1;
    } else if (text[i] == '(' || text[i] == '[') {
      ++depth;
    } else if (text[i] == ')' || text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

bool strip_wrapper(std::string_view& text, std::string_view open, std::string_view close) {
  if (!text.starts_with(open) || !text.ends_with(close) || text.size() < open.size() + close.size()) return false;
  text = text.substr(open.size(), text.size() - open.size() - close.size());
  return true;
}

bool is_negated_register(std::string_view text) {
  return text.size() > 1 && text[0] == '-' && !(text[1] >= '0' && text[1] <= '9');
}

OperandText parse_operand(std::string_view text) {
  OperandText operand;
  if (strip_wrapper(text, "neg(", ")")) operand.negate = true;
  if (is_negated_register(text)) {
    operand.negate = true;
    text.remove_prefix(1);
  }
  if (strip_wrapper(text, "|", "|") || strip_wrapper(text, "abs(", ")")) operand.absolute = true;
  if (strip_wrapper(text, "sext(", ")")) operand.sign_extend = true;
  strip_wrapper(text, "lit(", ")");  // a literal for which there is an inline constant: only the encoding differs
  operand.text = text;
  return operand;
}

void parse_modifier(std::string_view word, InstructionText& out) {
  const auto colon = word.find(':');
  if (colon == std::string_view::npos) {
    out.modifiers.emplace(word, "");
  } else {
    out.modifiers.emplace(word.substr(0, colon), word.substr(colon + 1));
  }
}

void split_encoding(InstructionText& out) {
  for (const char* suffix : {"_e32", "_e64", "_dpp", "_sdwa"}) {
    if (out.mnemonic.ends_with(suffix)) {
      out.encoding = suffix + 1;
      out.mnemonic.resize(out.mnemonic.size() - std::string_view(suffix).size());
      return;
    }
  }
}

}  // namespace

std::optional<long> InstructionText::number(std::string_view modifier) const {
  const auto entry = modifiers.find(modifier);
  if (entry == modifiers.end() || entry->second.empty()) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(entry->second.c_str(), &end, 0);
  if (*end != '\0') return std::nullopt;
  return value;
}

std::vector<int> InstructionText::numbers(std::string_view modifier) const {
  std::vector<int> values;
  const auto entry = modifiers.find(modifier);
  if (entry == modifiers.end()) return values;
  std::string_view list = entry->second;
  if (!strip_wrapper(list, "[", "]")) return values;
  for (const auto item : split(list, ',')) values.push_back(std::atoi(std::string(item).c_str()));
  return values;
}

InstructionText parse_instruction(std::string_view line) {
  InstructionText out;
  line = trim(line);
  const auto space = line.find_first_of(" \t");
  out.mnemonic = line.substr(0, space);
  split_encoding(out);
  if (space == std::string_view::npos) return out;
  const auto pieces = split(line.substr(space), ',');
  for (size_t i = 0; i < pieces.size(); ++i) {
    // The last operand is followed by the modifiers, separated by spaces.
    const auto words = split(pieces[i], ' ');
    out.operands.push_back(parse_operand(words[0]));
    for (size_t w = 1; w < words.size(); ++w) parse_modifier(words[w], out);
  }
  return out;
}

}  // namespace rpd
