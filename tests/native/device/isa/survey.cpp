#include "survey.h"

#include "isa/decoder.h"
#include "isa/instruction_text.h"

namespace rpd {
namespace {

uint64_t two_words(const uint32_t* code) { return code[0] | static_cast<uint64_t>(code[1]) << 32; }

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first);
}

}  // namespace

void Survey::section(const std::vector<uint32_t>& code, std::ostream& out) {
  std::vector<uint64_t> counts(kinds_.size());
  uint64_t instructions = 0;
  for (size_t index = 0; index < code.size();) {
    const Encoding encoding = look_up(&code[index], code.size() - index);
    if (encoding.kind >= counts.size()) counts.resize(kinds_.size());
    ++counts[encoding.kind];
    ++instructions;
    index += encoding.words;
  }
  out << "section " << instructions << ' ' << kinds_.size() << '\n';
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    out << (kinds_[i].problem.empty() ? "ok " : "refused ") << counts[i] << ' ' << kinds_[i].mnemonic;
    if (!kinds_[i].problem.empty()) out << '\t' << kinds_[i].problem << '\t' << kinds_[i].example;
    out << '\n';
  }
  out << "end" << std::endl;
}

Survey::Encoding Survey::look_up(const uint32_t* code, size_t words) {
  const auto word = by_word_.find(code[0]);
  if (word != by_word_.end() && word->second.words == 1) return word->second;
  if (word != by_word_.end() && word->second.words == 2 && words >= 2) {
    const auto both = by_two_words_.find(two_words(code));
    if (both != by_two_words_.end()) return both->second;
  }
  const Encoding encoding = decode_at(code, words);
  by_word_.try_emplace(code[0], encoding);
  if (encoding.words == 2) by_two_words_.emplace(two_words(code), encoding);
  return encoding;
}

Survey::Encoding Survey::decode_at(const uint32_t* code, size_t words) {
  const DisassembledInstruction instruction = disassembler_.at(code, words * sizeof(uint32_t));
  if (instruction.size == 0)
    return {1, kind_of("(unknown)", "these bytes are not an instruction of this target", std::to_string(*code))};
  const DecodedInstruction decoded = decode(instruction, code, 0);
  const std::string text = trimmed(instruction.text);
  return {static_cast<uint8_t>(instruction.size / sizeof(uint32_t)),
          kind_of(parse_instruction(text).mnemonic, decoded.problem, text)};
}

uint32_t Survey::kind_of(const std::string& mnemonic, const std::string& problem, const std::string& text) {
  const auto [entry, is_new] = kind_numbers_.try_emplace({mnemonic, problem}, kinds_.size());
  if (is_new) kinds_.push_back({mnemonic, problem, text});
  return entry->second;
}

}  // namespace rpd
