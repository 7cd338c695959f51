// The device's output on stderr: errors are always printed, the log only with ROCM_PERF_DEVICE_LOG=1.
#pragma once

namespace rpd {

// Prints one line, with a prefix and in a single write, so that lines from several threads do not mix.
[[gnu::format(printf, 1, 2)]] void report_error(const char* format, ...);

bool log_enabled();
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace rpd
