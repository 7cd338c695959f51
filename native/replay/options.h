// The command line. rocm-perf has checked only part of what it passes on, so everything is checked here.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/comparison.h"
#include "replay/launch.h"

namespace rpd::replay {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  enum class Action { reserve_check, full_vm, cases, verify, unpack };
  Action action = Action::full_vm;
  std::string capture;
  bool json = false;
  uint64_t iterations = 10, warmup = 0;
  bool recopy = true, flush_cache = false, compare = false;
  std::optional<uint8_t> poison;
  std::vector<Tolerance> tolerances;
  LaunchConfiguration launch;
  std::string hsaco, dump, overlay, cases;
  uint64_t limit_seconds = 600;
  unsigned attempt = 0;  // how often this process has been started again because captured addresses were taken
};

// Throws UsageError.
Options options_from(int count, char** words);

}  // namespace rpd::replay
