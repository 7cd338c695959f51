// What to capture and where to store it, as given by the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rpd::isolate {

struct Settings {
  std::string pattern;      // selects the wanted kernels, exactly as given; see kernel_filter.h
  std::string ask;          // folder for asking which kernels match; empty: the pattern is a substring of their names
  uint64_t dispatch = 0;    // index among the matching dispatches, from 0
  std::string folder;       // where isolate_capture_<pid> is created; an absolute path
  std::optional<int> zstd_level;
  bool staged_copies = false;  // read device memory through copies even if it could be read directly
};

// Reads ISOLATE_KERNEL, ISOLATE_ASK, ISOLATE_DISPATCH_INDEX, ISOLATE_OUTPUT_DIR, ISOLATE_ZSTD_LEVEL and ISOLATE_STAGED. Returns
// nothing if no kernel is to be captured, or if a value cannot be used (in which case the reason is reported first).
std::optional<Settings> settings_from_environment();

// Writes one line to stderr, and to the file that ISOLATE_REPORT names, if any.
void report(const char* event, const std::string& text);
// Writes one line to that file only.
void record(const char* event, const std::string& text);

}  // namespace rpd::isolate
