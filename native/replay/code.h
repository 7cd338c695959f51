// A code object loaded by ROCr, at an address that ROCr chooses.
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
struct UnfitCodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LoadedCode {
 public:
  // Throws UnfitCodeError if ROCr rejects the code object, or if the code object has no kernel of this name.
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

// The packet fields for which the replacement's kernel may need values other than the captured ones, and the kernel's metadata.
struct ReplacementFit {
  uint32_t private_bytes = 0, group_bytes = 0;
  bool has_uncaptured_arguments = false;  // it takes hidden arguments that were not captured but can be derived from the packet
  capture::KernelMetadata kernel{};
};

// dispatch: the dispatch as it is to be launched. Throws UnfitCodeError, naming the mismatch: a truncated file, a different
// target, no such kernel, different arguments, too much LDS, or a workgroup size for which the kernel was not compiled.
ReplacementFit fit_replacement(const capture::Dispatch& dispatch, std::span<const unsigned char> captured,
                               std::span<const unsigned char> replacement);

}  // namespace rpd::replay
