// Identifies the dispatch to capture, and records what was dispatched in case the chosen dispatch never comes.
#pragma once

#include <cstdint>
#include <string>

namespace rpd::isolate {

// Whether this dispatch is the one to capture. Must be called exactly once for each dispatch of a wanted kernel.
bool is_dispatch_to_capture();
uint64_t wanted_index();

void note_dispatch(const std::string& kernel_name);
// A description of what was dispatched, for the report that nothing was captured.
std::string describe_dispatches();

}  // namespace rpd::isolate
