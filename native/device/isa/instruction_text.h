// Parses one line of AMDGPU assembly. The parser knows the grammar of LLVM's output, but not what the instructions mean.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpd {

// "-|v[2:3]|" -> text "v[2:3]", negate, absolute.
struct OperandText {
  std::string text;
  bool negate = false;
  bool absolute = false;
  bool sign_extend = false;  // sext(...), sub-dword selection only
};

struct InstructionText {
  std::string mnemonic;  // without the encoding suffix
  std::string encoding;  // "e32", "e64", "dpp", "sdwa" or empty
  std::vector<OperandText> operands;
  std::map<std::string, std::string, std::less<>> modifiers;  // "offset" -> "16", "sc0" -> ""

  bool has(std::string_view modifier) const { return modifiers.find(modifier) != modifiers.end(); }
  // The modifier's number (decimal or 0x); nothing if it is absent or not a number.
  std::optional<long> number(std::string_view modifier) const;
  // The numbers of a list modifier such as op_sel:[0,1], empty if absent.
  std::vector<int> numbers(std::string_view modifier) const;
};

InstructionText parse_instruction(std::string_view line);

}  // namespace rpd
