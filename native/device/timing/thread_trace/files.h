// The files in which rocprofv3 leaves a decoded thread trace: stats_<name>.csv and the folder <name> with code.json,
// occupancy.json, realtime.json, filenames.json, wstates*.json and a file for each wave. What each number means is what
// it means there [rocprofiler-sdk, att-tool].
#pragma once

#include <filesystem>
#include <string>

#include "timing/thread_trace/listing.h"
#include "timing/thread_trace/timeline.h"

namespace rpd {

struct ThreadTraceOf {
  std::string kernel;  // its symbol
  uint32_t cu;         // the number to give the CU
  uint32_t simds;      // a bit each; waves on the others are only in occupancy.json
};

// Writes both into `folder`, each as a whole or not at all. Throws std::runtime_error.
void write_thread_trace(const std::filesystem::path& folder, const std::string& name, const ThreadTraceOf& traced,
                        const Timeline& timeline, const Listing& listing);

}  // namespace rpd
