// The exit codes of rocm-perf (src/rocm_perf_lab/errors.py), and a hint that is printed with kUnfit.
#pragma once

namespace rpd::replay {

enum ExitCode {
  kFine = 0,
  kFailedRange = 1,
  kRelocatedRange = 2,
  kUsage = 2,
  kBadCapture = 38,
  kNotExact = 39,
  kDifferent = 40,
  kUnfit = 41,
  kFailed = 42,
  kOutput = 73
};

inline constexpr char kBuildIt[] = "build it from the captured kernel's signature, for the same target";

}  // namespace rpd::replay
