// The files in which rocprofv3 leaves a decoded thread trace: stats_<name>.csv and the folder <name> with code.json,
// occupancy.json, realtime.json, filenames.json, wstates*.json and a file for each wave. What each number means is what
// it means there [rocprofiler-sdk, att-tool].
#pragma once

#include <filesystem>
#include <string>

#include "timing/thread_trace/listing.h"
#include "timing/thread_trace/timeline.h"

namespace rpd {

// Writes both into `folder`, which exists: the folder as a whole, then the CSV. Waves on SIMDs out of `simds` (a bit
// each) are only in occupancy.json. `kernel` is the traced kernel's symbol. Throws std::runtime_error.
void write_thread_trace(const std::filesystem::path& folder, const std::string& name, const Timeline& timeline,
                        const Listing& listing, const std::string& kernel, uint32_t simds);

}  // namespace rpd
