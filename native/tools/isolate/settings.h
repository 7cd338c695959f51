// What to capture and where to, from the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rpd::isolate {

struct Settings {
  std::string pattern;      // of the kernels wanted, as it was given; see wanted.h
  std::string ask;          // the folder where it is asked which these are; empty: pattern is a piece of their names
  uint64_t dispatch = 0;    // which of those that match, from 0
  std::string folder;       // where isolate_capture_<pid> goes; absolute
  std::optional<int> zstd_level;
  bool staged_copies = false;  // read device memory by copies even where it could be read directly
};

// ISOLATE_KERNEL, ISOLATE_ASK, ISOLATE_DISPATCH_INDEX, ISOLATE_OUTPUT_DIR, ISOLATE_ZSTD_LEVEL, ISOLATE_STAGED. Nothing if there
// is no kernel to capture, or (after saying so) if a value cannot be understood.
std::optional<Settings> settings_from_environment();

// One line on stderr, and in the file that ISOLATE_REPORT names, if any.
void report(const char* event, const std::string& text);
// The same, in that file only.
void record(const char* event, const std::string& text);

}  // namespace rpd::isolate
