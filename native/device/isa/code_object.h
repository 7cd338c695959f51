// A loaded code object seen as a file: its functions, their instructions and where in the source they come from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpd {

struct Function {
  std::string symbol;
  uint64_t address = 0;  // ELF
  uint64_t size = 0;
  bool is_kernel = false;
};

class CodeObject {
 public:
  // `elf` is copied. Throws std::runtime_error if comgr does not take it.
  explicit CodeObject(std::span<const char> elf);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;

  // The function that has code at an ELF address.
  const Function* function_at(uint64_t address) const;

  // "file:line"; of inlined code the innermost place first, then " -> " and where that was inlined into. Empty if the
  // code object has no line for the address.
  std::string source_of(uint64_t address) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::vector<Function> functions_;  // by address
};

// Reads "function at file:line:column" and " (inlined by) function at file:line:column" lines, as LLVM's symbolizer
// prints them.
std::string source_from_symbolizer(const std::string& text);

}  // namespace rpd
