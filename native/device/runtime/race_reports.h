// What the race check found, for the user and for whoever started the program.
#pragma once

#include <string>

namespace rpd {

// One line on stderr, and in the file that ROCM_PERF_DEVICE_RACES names, if it does.
void report_race(const std::string& race);

}  // namespace rpd
