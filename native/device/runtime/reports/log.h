// What the device says on stderr: errors always, its log only with ROCM_PERF_DEVICE_LOG=1.
#pragma once

namespace rpd {

// One line, prefixed and flushed whole, so that lines of several threads do not mix.
[[gnu::format(printf, 1, 2)]] void report_error(const char* format, ...);

bool log_enabled();
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace rpd
