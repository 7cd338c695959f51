// A loaded code object as an ELF file: its functions, and the source locations of their instructions.
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
  // Copies `elf`. Throws std::runtime_error if comgr rejects it.
  explicit CodeObject(std::span<const char> elf);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;

  // The function whose code includes the ELF address, or null.
  const Function* function_at(uint64_t address) const;

  // "file:line"; for inlined code, the innermost location first, then " -> " and the location into which it was inlined. Empty
  // if the code object has no line for the address.
  std::string source_of(uint64_t address) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::vector<Function> functions_;  // by address
};

// Parses the lines that LLVM's symbolizer prints: "function at file:line:column" and " (inlined by) function at
// file:line:column".
std::string source_from_symbolizer(const std::string& text);

}  // namespace rpd
