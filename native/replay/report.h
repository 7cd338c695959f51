// What a replay found, for people and for programs.
#pragma once

#include <optional>
#include <string>

#include "replay/options.h"
#include "replay/session.h"
#include "replay/statistics.h"

namespace rpd::replay {

struct Result {
  Statistics gpu, wait, restore;  // milliseconds
  std::vector<double> gpu_ms;     // each iteration's
  double setup_ms = 0, wall_ms = 0;
  std::optional<Counted> counted;  // of the last iteration
  std::optional<Comparison> comparison;
};

std::string json_of(const Options& options, const capture::Capture& capture, const Session& session, const Result& result);
std::string text_of(const Options& options, const capture::Capture& capture, const Session& session, const Result& result);

std::string json_of(const Options& options, const capture::Capture& capture, const std::vector<Placement>& placements);
std::string text_of(const capture::Capture& capture, const std::vector<Placement>& placements);

}  // namespace rpd::replay
