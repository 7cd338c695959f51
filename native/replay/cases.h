// Many inputs in one process: what differs from one case to the next is put over the captured memory and taken off again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/session.h"

namespace rpd::replay {

struct WrongCases : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  std::optional<uint8_t> poison;
  std::string overlay, dump;  // paths, or empty
};

// A file with a JSON list of {"poison": BYTE or null, "overlay": FILE or null, "dump": FOLDER or null}. Throws WrongCases.
std::vector<Case> read_cases(const std::string& path);

// Runs each once and prints one line of JSON for each as it ends; what a case throws ends the run.
void run_cases(Session& session, const std::vector<Case>& cases, std::chrono::seconds limit);

}  // namespace rpd::replay
