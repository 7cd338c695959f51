// The software device's memory is a file in memory (of ROCr's model support), and what no one has written are holes in it.
// Reading a hole through a mapping makes memory of it: a program that has allocated far more than it uses would run out.
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

  // Whether nothing of these bytes at this address of the process was ever written. False where that is unknown.
  bool holds(const void* memory, uint64_t bytes) const;

 private:
  struct Mapping {
    uint64_t begin, end, offset;
  };
  std::vector<Mapping> mappings_;  // of the file, ascending
  int file_ = -1;
};

}  // namespace rpd::isolate
