#include "replay/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rpd::replay {

Statistics statistics_of(std::vector<double> values) {
  Statistics s;
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  s.average = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  s.minimum = values.front(), s.maximum = values.back();
  s.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  double squares = 0;
  for (const double value : values) squares += (value - s.average) * (value - s.average);
  if (n > 1) s.deviation = std::sqrt(squares / static_cast<double>(n - 1));
  if (s.average > 0) s.cv = s.deviation / s.average;
  s.classification = s.cv <= 0.05 ? "stable" : s.cv <= 0.10 ? "moderate" : "unstable";
  return s;
}

}  // namespace rpd::replay
