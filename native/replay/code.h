// A code object loaded by ROCr, where ROCr wants it.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/code_metadata.h"
#include "capture/format.h"

namespace rpd::replay {

// The replacement does not fit the captured dispatch.
struct UnfitCode : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LoadedCode {
 public:
  // Throws UnfitCode if ROCr refuses it, or if it has no kernel of this name.
  LoadedCode(hsa_agent_t agent, std::span<const unsigned char> file, const std::string& symbol);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;

  uint64_t kernel_object() const { return kernel_object_; }
  const std::vector<capture::Variable>& variables() const { return variables_; }

 private:
  static hsa_status_t on_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* self);

  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
  std::string wanted_;
  uint64_t kernel_object_ = 0;
  std::vector<capture::Variable> variables_;
};

// What the replacement's kernel needs where it differs from the captured packet.
struct Fit {
  uint32_t private_bytes = 0, group_bytes = 0;
};

// Throws UnfitCode, naming what is wrong: a file that is not whole, another target, no such kernel, other arguments, too much
// LDS, a workgroup that it was not compiled for.
Fit fit(const capture::Dispatch& dispatch, std::span<const unsigned char> captured, std::span<const unsigned char> replacement);

}  // namespace rpd::replay
