// Of the times of several iterations.
#pragma once

#include <vector>

namespace rpd::replay {

struct Statistics {
  double average = 0, minimum = 0, maximum = 0, median = 0, deviation = 0;  // deviation: of the sample, 0 for one value
  double cv = 0;  // deviation / average; 0 where the average is
  const char* classification = "stable";  // as in profile.json: up to 0.05 stable, up to 0.10 moderate, else unstable
};

Statistics statistics_of(std::vector<double> values);

}  // namespace rpd::replay
