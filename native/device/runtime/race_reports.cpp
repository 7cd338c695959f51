#include "runtime/race_reports.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "runtime/log.h"

namespace rpd {
namespace {

std::atomic<uint64_t> reported{0};

void summarise() { report_error("race-check: %lu findings in this program, each reported above", reported.load()); }

}  // namespace

void report_race(const std::string& race) {
  if (reported++ == 0) std::atexit(summarise);
  report_error("race-check: %s", race.c_str());
  const char* path = std::getenv("ROCM_PERF_DEVICE_RACES");
  if (!path || !*path) return;
  if (std::FILE* file = std::fopen(path, "ae")) {
    std::fprintf(file, "%s\n", race.c_str());
    std::fclose(file);
  }
}

}  // namespace rpd
