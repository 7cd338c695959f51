#include "isolate/settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace rpd::isolate {
namespace {

const char* value_of(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

bool read_number(const char* name, uint64_t limit, uint64_t& number) {
  const char* text = value_of(name);
  if (text == nullptr) return true;
  char* end = nullptr;
  errno = 0;
  number = std::strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && number <= limit) return true;
  report("failed", std::string(name) + "=" + text + " is not a number from 0 to " + std::to_string(limit));
  return false;
}

}  // namespace

std::optional<Settings> settings_from_environment() {
  const char* pattern = value_of("ISOLATE_KERNEL");
  if (pattern == nullptr) return {};
  Settings settings;
  settings.pattern = pattern;
  if (const char* ask = value_of("ISOLATE_ASK")) settings.ask = ask;
  if (!read_number("ISOLATE_DISPATCH_INDEX", UINT64_MAX, settings.dispatch)) return {};
  uint64_t level = 0;
  if (!read_number("ISOLATE_ZSTD_LEVEL", 19, level)) return {};
  if (level > 0) settings.zstd_level = static_cast<int>(level);
  uint64_t staged = 0;
  if (!read_number("ISOLATE_STAGED", 1, staged)) return {};
  settings.staged_copies = staged != 0;
  const char* folder = value_of("ISOLATE_OUTPUT_DIR");
  std::error_code error;
  settings.folder = std::filesystem::absolute(folder == nullptr ? "." : folder, error).lexically_normal().string();
  if (settings.folder.ends_with('/') && settings.folder.size() > 1) settings.folder.pop_back();
  if (error) {
    report("failed", "the working directory no longer exists, and ISOLATE_OUTPUT_DIR is not set");
    return {};
  }
  return settings;
}

void report(const char* event, const std::string& text) {
  std::fprintf(stderr, "rocm-perf isolate: %s\n", text.c_str());
  record(event, text);
}

void record(const char* event, const std::string& text) {
  const char* path = value_of("ISOLATE_REPORT");
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  const std::string line = std::string(event) + "\t" + text + "\n";
  static_cast<void>(!write(file, line.data(), line.size()));
  close(file);
}

}  // namespace rpd::isolate
