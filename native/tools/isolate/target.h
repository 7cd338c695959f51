// Which dispatch is to be captured, and what was dispatched instead.
#pragma once

#include <cstdint>
#include <string>

namespace rpd::isolate {

// Of the dispatches of wanted kernels, whether this next one is it. Once.
bool is_the_one();
uint64_t wanted_index();

void saw_dispatch(const std::string& kernel_name);
// For the report when there was no capture.
std::string what_was_dispatched();

}  // namespace rpd::isolate
