// A code object's metadata about its kernels, read from the note that AMD's compiler writes [LLVM AMDGPUUsage, "Code Object V3
// to V6 Metadata"].
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpd::capture {

struct KernelArgument {
  uint32_t offset = 0, bytes = 0;
  std::string kind;  // "global_buffer", "by_value", "hidden_block_count_x", ...

  friend bool operator==(const KernelArgument&, const KernelArgument&) = default;
};

struct KernelMetadata {
  std::string symbol;  // mangled, without ".kd"
  uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
  uint32_t max_workgroup_items = 0;
  std::vector<uint32_t> required_workgroup;  // empty, or three
  bool dynamic_stack = false;
  std::vector<KernelArgument> arguments;
};

struct CodeMetadata {
  std::string target;  // "amdgcn-amd-amdhsa--gfx942"
  std::vector<KernelMetadata> kernels;

  const KernelMetadata* find(const std::string& symbol) const;
};

// Returns nothing if the bytes, which can be anything, are not an AMD GPU code object.
std::optional<CodeMetadata> code_metadata(std::span<const unsigned char> file);

}  // namespace rpd::capture
