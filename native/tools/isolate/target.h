// Identifies the dispatch to be captured, and records what was dispatched in case there is none.
#pragma once

#include <cstdint>
#include <string>

namespace rpd::isolate {

// Whether this dispatch is the one to capture. To be called once for each dispatch of a wanted kernel.
bool is_the_one();
uint64_t wanted_index();

void saw_dispatch(const std::string& kernel_name);
// What was dispatched, described for the report that there was no capture.
std::string what_was_dispatched();

}  // namespace rpd::isolate
