// Performs many runs in one process: overlays with different inputs are applied to the captured memory and then removed, and
// the software device restarts whenever its options change.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/session.h"

namespace rpd::replay {

struct InvalidCases : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  std::optional<uint8_t> poison;
  LaunchConfiguration launch;
  std::string overlay, dump, findings;  // paths, or empty
  std::string device_options;           // in addition to those of the process
  bool flush_cache = false, compare = false;
};

// Reads a file with a JSON list of {"poison": BYTE or null, "launch": {"groups": [X, Y, Z], "group_size": [X, Y, Z],
// "dynamic_lds": BYTES} or null, "overlay": FILE or null, "dump": FOLDER or null, "findings": PREFIX or null,
// "device_options": TEXT, "flush_cache": BOOL, "compare": BOOL}. The software device writes the findings of its race check to
// files whose names begin with PREFIX. Throws InvalidCases.
std::vector<Case> read_cases(const std::string& path);

// Runs each case once and prints one line of JSON when the case ends. An exception from a case ends the whole run.
void run_cases(Session& session, const std::vector<Case>& cases, std::chrono::seconds limit);

}  // namespace rpd::replay
