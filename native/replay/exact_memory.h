// Memory at the addresses that a capture requires, with the capture's content. There are two ways to obtain it: this process's
// own pages for the software device, and HSA's virtual memory functions for a GPU. The agent determines which way is used.
#pragma once

#include <hsa/hsa.h>

#include <memory>
#include <span>
#include <vector>

#include "replay/memory_image.h"
#include "replay/reservation.h"

namespace rpd::replay {

struct PageRange {
  uint64_t offset = 0, bytes = 0;  // in its region
};

class ExactMemory {
 public:
  virtual ~ExactMemory() = default;

  // Turns the addresses that `reserve` kept free into memory that the agent can use. For regions that the agent cannot use, the
  // outcome is not `exact` and the placement says why.
  virtual std::vector<Placement> map(const std::vector<capture::Region>& regions) = 0;

  // Restores all of the memory to the captured content. The first call fills it.
  virtual void restore() = 0;

  // The ranges whose contents may have changed since the last restore(); whole pages, in ascending order.
  virtual std::vector<PageRange> changed(uint32_t region) = 0;

  virtual void read(uint64_t address, void* to, uint64_t bytes) = 0;
  virtual void write(uint64_t address, const void* from, uint64_t bytes) = 0;

  virtual void flush_caches() = 0;

  // The kernel's address: the captured one, or (on a GPU) where the loader has placed the same code.
  virtual uint64_t kernel_object() = 0;

  virtual const char* method() const = 0;
};

struct Agents {
  hsa_agent_t agent{}, host{};
};

std::unique_ptr<ExactMemory> identity_memory(const capture::Capture& capture, Image* image);
std::unique_ptr<ExactMemory> virtual_memory(const Agents& agents, const capture::Capture& capture, Image* image);

// If `image` is null, there is nothing to restore, and only map() may be called.
std::unique_ptr<ExactMemory> exact_memory(const Agents& agents, const capture::Capture& capture, Image* image);

}  // namespace rpd::replay
