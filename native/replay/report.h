// Reports the results of a replay as human-readable text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/options.h"
#include "replay/session.h"

namespace rpd::replay {

// Statistics on the times of several iterations.
struct Statistics {
  double average = 0, minimum = 0, maximum = 0, median = 0, deviation = 0;  // deviation: of the sample; 0 for a single value
  double cv = 0;  // deviation / average; 0 if the average is 0
  const char* classification = "stable";  // by cv, as in profile.json: up to 0.05 stable, up to 0.10 moderate, else unstable
};

Statistics statistics_of(std::vector<double> values);

struct Result {
  Statistics gpu, wait, restore;  // milliseconds
  std::vector<double> gpu_ms;     // one per iteration
  double setup_ms = 0, wall_ms = 0;
  std::optional<DeviceCounts> counted;  // counts of the last iteration
  std::optional<Comparison> comparison;
};

std::string json_of(const Options& options, const capture::Capture& capture, const Session& session, const Result& result);
std::string text_of(const Options& options, const capture::Capture& capture, const Session& session, const Result& result);

std::string json_of(const Options& options, const capture::Capture& capture, const std::vector<Placement>& placements);
std::string text_of(const capture::Capture& capture, const std::vector<Placement>& placements);

}  // namespace rpd::replay
