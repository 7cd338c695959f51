// Reports what the device's checks found, to the user and to the process that started the program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rpd {

// Writes one line to stderr, and to the file that ROCM_PERF_DEVICE_RACES names, if set.
void report_race(const std::string& race);

// Writes the address ranges that a dispatch wrote to (known only with a race check), one line "BEGIN END" each, to the file
// that ROCM_PERF_DEVICE_WRITTEN names, if set.
void report_written_ranges(const std::vector<std::pair<uint64_t, uint64_t>>& ranges);

// Writes one line to the file that ROCM_PERF_DEVICE_FOREIGN_ACCESSES names, if set; on stderr, the access is reported as a
// failure of the kernel.
void report_foreign_access(const std::string& write);

// Writes one line about a kernel that has failed to the file that ROCM_PERF_DEVICE_FAILURES names, if set.
void report_kernel_failure(const std::string& failure);

// The first line passed to report_foreign_access in this process, or null.
const char* first_foreign_access();

}  // namespace rpd
