// The files in which rocprofv3 leaves a decoded thread trace: stats_<name>.csv and the folder <name> with code.json,
// occupancy.json, realtime.json, filenames.json, wstates*.json and a file for each wave. What each number means is what
// it means there [rocprofiler-sdk, att-tool].
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "timing/thread_trace/timeline.h"

namespace rpd {

// The code that a thread trace refers to, in the form that code.json has.
struct ListedInstruction {
  std::string text;
  std::string source;          // "file:line", or empty
  uint64_t code_object = 0;    // 1 for the first loaded; 0 if it is not known
  uint64_t vaddr = 0;          // in the code object's ELF file; the device address if that is not known
  std::string kernel;          // if a kernel begins here, its symbol
};

// By device address: all instructions of every function that waves were in.
using Listing = std::map<uint64_t, ListedInstruction>;

struct ThreadTraceOf {
  std::string kernel;  // its symbol
  uint32_t cu;         // the number to give the CU
  uint32_t simds;      // a bit each; waves on the others are only in occupancy.json
};

// Writes both into `folder`, each as a whole or not at all. Throws std::runtime_error.
void write_thread_trace(const std::filesystem::path& folder, const std::string& name, const ThreadTraceOf& traced,
                        const Timeline& timeline, const Listing& listing);

}  // namespace rpd
