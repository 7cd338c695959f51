// Writes a thread trace as the files that rocprofv3 writes for a decoded trace: stats_<name>.csv and the folder <name> with
// code.json, occupancy.json, realtime.json, filenames.json, wstates*.json and a file for each wave. The numbers have the same
// meaning as in rocprofv3's files [rocprofiler-sdk, att-tool].
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "timing/thread_trace/timeline.h"

namespace rpd {

// An instruction that a thread trace refers to, with the contents of its entry in code.json.
struct ListedInstruction {
  std::string text;
  std::string source;          // "file:line", or empty
  uint64_t code_object = 0;    // 1 for the first one loaded; 0 if unknown
  uint64_t vaddr = 0;          // in the code object's ELF file; the device address if that is unknown
  std::string kernel;          // the kernel's symbol if a kernel begins here, else empty
};

// All instructions of every function that a wave executed; the key is the device address.
using Listing = std::map<uint64_t, ListedInstruction>;

struct ThreadTraceSubject {
  std::string kernel;  // its symbol
  uint32_t cu;         // the number that the files give the CU
  uint32_t simds;      // SIMDs to include, one bit each; waves on the others appear only in occupancy.json
};

// Writes the CSV file and the folder <name> into `folder`, each completely or not at all. Throws std::runtime_error.
void write_thread_trace(const std::filesystem::path& folder, const std::string& name, const ThreadTraceSubject& traced,
                        const Timeline& timeline, const Listing& listing);

}  // namespace rpd
