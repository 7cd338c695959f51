// Writes what each cause costs a dispatch to a file next to the dispatch's thread trace.
#pragma once

#include <filesystem>

#include "timing/cause_experiment.h"
#include "timing/thread_trace/files.h"

namespace rpd {

// Writes causes.json into the trace's folder. Throws std::runtime_error.
void write_causes(const std::filesystem::path& folder, const CauseTimes& times, const Listing& listing);

}  // namespace rpd
