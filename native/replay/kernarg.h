// A kernel's arguments in separate memory, for a launch whose arguments differ from the captured ones.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <vector>

#include "replay/exact_memory.h"
#include "replay/launch.h"

namespace rpd::replay {

class Kernarg {
 public:
  // Throws std::runtime_error.
  explicit Kernarg(const Agents& agents);
  ~Kernarg();
  Kernarg(const Kernarg&) = delete;

  // The maximum size of the arguments, in bytes.
  static constexpr uint32_t kRoom = 64 * 1024;

  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  // content: the captured arguments, at most kRoom bytes; `hidden` is written over them.
  void fill(std::vector<unsigned char> content, const std::vector<HiddenValue>& hidden);
  // Throws std::runtime_error if the kernel wrote to its arguments, which it must not do.
  void check_unchanged() const;

 private:
  static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* self);

  hsa_amd_memory_pool_t pool_{};
  void* memory_ = nullptr;
  std::vector<unsigned char> content_;
};

}  // namespace rpd::replay
