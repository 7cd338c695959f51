// The code that a thread trace refers to, in the form that code.json has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "timing/thread_trace/timeline.h"

namespace rpd {

struct ListedInstruction {
  std::string text;
  std::string source;          // "file:line", or empty
  uint64_t code_object = 0;    // 1 for the first loaded; 0 if it is not known
  uint64_t vaddr = 0;          // in the code object's ELF file; the device address if that is not known
  std::string kernel;          // if a kernel begins here, its symbol
};

// By device address: all instructions of every function that waves were in.
using Listing = std::map<uint64_t, ListedInstruction>;

}  // namespace rpd
