// AMD's own disassembler (libamd_comgr), one instruction at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rpd {

struct DisassembledInstruction {
  std::string text;    // as LLVM prints it
  uint32_t size = 0;   // bytes; 0 if this is not an instruction of the target
};

class Disassembler {
 public:
  // `isa_name`: such as "amdgcn-amd-amdhsa--gfx942". Throws std::runtime_error if comgr does not know it.
  explicit Disassembler(const std::string& isa_name);
  ~Disassembler();

  // Disassembles the code at host address `code`, at most `limit` bytes.
  DisassembledInstruction at(const void* code, uint64_t limit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpd
