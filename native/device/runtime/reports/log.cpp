#include "runtime/reports/log.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rpd {
namespace {

void write_line(const char* format, va_list arguments) {
  static constexpr char kPrefix[] = "rocm-perf-device: ";
  char line[1024];
  std::memcpy(line, kPrefix, sizeof kPrefix);
  const size_t prefix = sizeof kPrefix - 1;
  const size_t room = sizeof line - prefix - 1;  // one byte is for the newline
  const int wanted = std::vsnprintf(line + prefix, room, format, arguments);
  if (wanted < 0) return;
  size_t length = prefix + (static_cast<size_t>(wanted) < room ? wanted : room - 1);
  line[length++] = '\n';
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, length);
}

}  // namespace

void report_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

bool log_enabled() {
  static const bool enabled = [] {
    const char* value = std::getenv("ROCM_PERF_DEVICE_LOG");
    return value && *value && std::strcmp(value, "0") != 0;
  }();
  return enabled;
}

void log_line(const char* format, ...) {
  if (!log_enabled()) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

}  // namespace rpd
