// Finds memory that has never been written. The software device's memory is an in-memory file (created by ROCr's model
// support), with holes where nothing has been written. Reading a hole through a mapping would allocate it, so a program that
// has allocated far more than it uses would run out of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpd::isolate {

class UntouchedMemory {
 public:
  UntouchedMemory();
  ~UntouchedMemory();
  UntouchedMemory(const UntouchedMemory&) = delete;

  // Whether none of the bytes at this address in the process has ever been written; false if this is unknown.
  bool holds(const void* memory, uint64_t bytes) const;

 private:
  struct Mapping {
    uint64_t begin, end, offset;
  };
  std::vector<Mapping> mappings_;  // mappings of the file, ascending
  int file_ = -1;
};

}  // namespace rpd::isolate
