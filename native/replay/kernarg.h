// A kernel's arguments in memory of their own, for a launch whose arguments differ from the captured ones.
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
  explicit Kernarg(const Target& target);
  ~Kernarg();
  Kernarg(const Kernarg&) = delete;

  // Bytes that it can hold.
  static constexpr uint32_t kRoom = 64 * 1024;

  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  // content: the captured arguments, kRoom bytes at most; `hidden` is written over them.
  void fill(std::vector<unsigned char> content, const std::vector<HiddenValue>& hidden);
  // A kernel has no business to write there. Throws std::runtime_error if it did.
  void check_unchanged() const;

 private:
  static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* self);

  hsa_amd_memory_pool_t pool_{};
  void* memory_ = nullptr;
  std::vector<unsigned char> content_;
};

}  // namespace rpd::replay
