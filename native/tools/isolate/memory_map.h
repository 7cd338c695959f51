// The parts of the program's memory that GPUs can currently access, with the addresses and sizes that the program requested
// (not rounded to pages).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "capture/format.h"
#include "common/hsa.h"

namespace rpd::isolate {

// A region to be captured, and the agent that owns its memory.
struct Source {
  capture::Region region;
  hsa_agent_t agent{};  // handle 0: host memory
};

class MemoryMap {
 public:
  void add(uint64_t address, uint64_t bytes, capture::Kind kind, hsa_agent_t agent);
  void remove(uint64_t address);

  // Adds memory that a capture cannot contain. foreign() returns the descriptions of all such memory that has not been removed.
  void add_foreign(uint64_t address, const std::string& description);
  void remove_foreign(uint64_t address);

  // The regions to be captured: whole pages, ascending and disjoint; allocations that share a page share a region. `code`
  // contains the loaded code objects.
  std::vector<Source> regions(const std::vector<Source>& code) const;
  std::vector<std::string> foreign() const;

 private:
  struct Entry {
    uint64_t bytes;
    capture::Kind kind;
    hsa_agent_t agent;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;
  std::map<uint64_t, std::string> foreign_;
};

MemoryMap& memory_map();

// Whether this process can read the whole range: registered memory can be unmapped behind ROCr's back.
bool is_readable(uint64_t address, uint64_t bytes);

}  // namespace rpd::isolate
