#include "timing/concurrent_dispatches.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rpd {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNothing = 1e-3;  // ns, or a share: anything less is a rounding error

// The rate at which a dispatch with this `use` can progress if `available` is the share of each resource that is still
// available.
double rate_within(const DeviceUse& use, const DeviceUse& available) {
  double rate = 1;
  for (size_t i = 0; i < use.shares.size(); ++i) {
    if (use.shares[i] > 0) rate = std::min(rate, available.shares[i] / use.shares[i]);
  }
  return rate < kNothing ? 0 : rate;
}

double largest(const DeviceUse& use) { return *std::max_element(use.shares.begin(), use.shares.end()); }

}  // namespace

ConcurrentDispatches::Pace ConcurrentDispatches::pace_at(double time, const DeviceUse& use) {
  DeviceUse available;
  available.shares.fill(1);
  Pace pace{.rate = 1, .borrows = 0, .lender = nullptr, .until = kNever};
  unsigned running = 1;
  for (Segment& segment : segments_) {
    if (segment.end <= time) continue;
    if (segment.begin > time) {
      pace.until = std::min(pace.until, segment.begin);
      continue;
    }
    pace.until = std::min(pace.until, segment.end);
    ++running;
    if (segment.lends > kNothing && (!pace.lender || segment.lends > pace.lender->lends)) pace.lender = &segment;
    for (size_t i = 0; i < available.shares.size(); ++i)
      available.shares[i] = std::max(0.0, available.shares[i] - segment.use.shares[i]);
  }
  pace.rate = rate_within(use, available);
  const double fair = std::min(1.0, 1.0 / (running * largest(use)));
  if (pace.lender && fair > pace.rate) {
    pace.borrows = (fair - pace.rate) * largest(use);
    pace.rate = fair;
  }
  return pace;
}

uint64_t ConcurrentDispatches::add(uint64_t start, uint64_t alone, const DeviceUse& use) {
  const auto begin = static_cast<double>(start);
  double time = begin, remaining = static_cast<double>(alone);
  while (remaining > kNothing) {
    const Pace pace = pace_at(time, use);
    double end = pace.rate > 0 ? std::min(pace.until, time + remaining / pace.rate) : pace.until;
    if (pace.borrows > 0) {
      end = std::min(end, time + pace.lender->lends / pace.borrows);
      pace.lender->lends -= (end - time) * pace.borrows;
    }
    remaining -= (end - time) * pace.rate;
    note(time, end, use, pace.rate);
    time = end;
  }
  return std::max(alone, static_cast<uint64_t>(std::llround(time - begin)));
}

void ConcurrentDispatches::note(double begin, double end, const DeviceUse& use, double rate) {
  if (rate == 0 || end <= begin) return;
  DeviceUse used = use;
  for (double& share : used.shares) share *= rate;
  segments_.push_back({begin, end, used, kLent * (end - begin) * largest(used)});
  if (segments_.size() > kKept) segments_.pop_front();
}

}  // namespace rpd
