// What the device's checks found, for the user and for whoever started the program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rpd {

// One line on stderr, and in the file that ROCM_PERF_DEVICE_RACES names, if it does.
void report_race(const std::string& race);

// What a dispatch has written, with a race check: a line "BEGIN END" each, in the file that ROCM_PERF_DEVICE_WRITTEN names,
// if it does.
void report_written(const std::vector<std::pair<uint64_t, uint64_t>>& ranges);

// One line in the file that ROCM_PERF_DEVICE_WRITES names, if it does; stderr has it as the kernel's failure.
void report_foreign_write(const std::string& write);

// Of a kernel that has failed: one line in the file that ROCM_PERF_DEVICE_FAILURES names, if it does.
void report_kernel_failure(const std::string& failure);

// The first line that was reported so in this process, or null.
const char* first_foreign_write();

}  // namespace rpd
