// Reads the program's memory, wherever it is located, piece by piece through a buffer of limited size.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "isolate/memory_map.h"

namespace rpd::isolate {

class MemoryAccess {
 public:
  static constexpr uint64_t kPiece = 16 << 20;  // a multiple of capture::kBlock

  virtual ~MemoryAccess() = default;

  // Passes the memory's bytes to `piece` in ascending order, kPiece bytes at a time (the last piece may be smaller). Throws
  // std::runtime_error.
  using Piece = std::function<void(uint64_t offset, std::span<const unsigned char> bytes)>;
  virtual void read(const Source& source, const Piece& piece) = 0;
};

// Copies device memory to the host if the host cannot read it directly; with `always_copy`, even if it can.
std::unique_ptr<MemoryAccess> memory_access(hsa_agent_t agent, bool always_copy);

}  // namespace rpd::isolate
