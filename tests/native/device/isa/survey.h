// Decodes whole sections of code, each distinct encoding once, and counts what the device can and cannot execute.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/disassembler.h"

namespace rpd {

class Survey {
 public:
  explicit Survey(const std::string& isa_name) : disassembler_(isa_name) {}

  // Writes a line "section <instructions> <distinct mnemonics>", then for each mnemonic "ok <count> <mnemonic>", and for
  // each reason for refusal "refused <count> <mnemonic>\t<reason>\t<first such instruction>".
  void section(const std::vector<uint32_t>& code, std::ostream& out);

 private:
  // All instructions of a mnemonic that run, or that are refused for the same reason.
  struct Kind {
    std::string mnemonic, problem, example;
  };
  // The first word of an instruction determines its size, and, if that is four bytes, everything else about it.
  struct Encoding {
    uint8_t words;
    uint32_t kind;
  };

  Encoding look_up(const uint32_t* code, size_t words);
  Encoding decode_at(const uint32_t* code, size_t words);
  uint32_t kind_of(const std::string& mnemonic, const std::string& problem, const std::string& text);

  Disassembler disassembler_;
  std::vector<Kind> kinds_;
  std::map<std::pair<std::string, std::string>, uint32_t> kind_numbers_;
  std::unordered_map<uint32_t, Encoding> by_word_;
  std::unordered_map<uint64_t, Encoding> by_two_words_;
};

}  // namespace rpd
