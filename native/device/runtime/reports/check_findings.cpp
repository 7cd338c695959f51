#include "runtime/reports/check_findings.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "runtime/reports/log.h"

namespace rpd {
namespace {

std::atomic<uint64_t> races{0};
std::atomic<const std::string*> first_write{nullptr};

void summarise() { report_error("race-check: %lu findings in this program, each reported above", races.load()); }

std::FILE* opened(const char* variable) {
  const char* path = std::getenv(variable);
  return path && *path ? std::fopen(path, "ae") : nullptr;
}

void append(const char* variable, const std::string& line) {
  if (std::FILE* file = opened(variable)) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

}  // namespace

void report_race(const std::string& race) {
  if (races++ == 0) std::atexit(summarise);
  report_error("race-check: %s", race.c_str());
  append("ROCM_PERF_DEVICE_RACES", race);
}

void report_written_ranges(const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  std::FILE* file = opened("ROCM_PERF_DEVICE_WRITTEN");
  if (!file) return;
  for (const auto& [begin, end] : ranges) std::fprintf(file, "%lu %lu\n", begin, end);
  std::fclose(file);
}

void report_foreign_access(const std::string& write) {
  append("ROCM_PERF_DEVICE_FOREIGN_ACCESSES", write);
  const auto* copy = new std::string(write);  // lives as long as the process
  const std::string* none = nullptr;
  if (!first_write.compare_exchange_strong(none, copy)) delete copy;
}

void report_kernel_failure(const std::string& failure) { append("ROCM_PERF_DEVICE_FAILURES", failure); }

const char* first_foreign_access() {
  const std::string* write = first_write.load();
  return write ? write->c_str() : nullptr;
}

}  // namespace rpd
