// Walks a spool from its beginning and delivers each operation once it is complete: what was submitted, its times and counters,
// and the operations that it had to wait for. Keeps only operations in flight, so memory use does not depend on the length of
// the spool.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "rocpd/dependencies.h"
#include "rocpd/spool_reader.h"

namespace rpd::rocpd {

struct Dispatch {
  spool::Dispatch fixed;
  uint64_t kernel_id = 0;  // 0: its kernel object is not in any recorded code object
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<double> counters;  // one value per counter, or empty
  std::vector<double> errors;  // the errors of estimated counters, NaN for the others; empty if no counter is estimated
  double duration_error = 0;  // a fraction; 0 if the duration is not an estimate
  std::vector<Edge> after;
};

struct Copy {
  spool::Copy fixed;
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<Edge> after;
};

struct Region {
  spool::Region fixed;
  std::string_view function;  // points into the spool
};

// The function to call for each kind of record; kinds without a function are skipped.
struct Visitor {
  std::function<void(const RecordView&)> description;  // describes the process, its agents, queues, code, kernels, counters
  std::function<void(const Dispatch&)> dispatch;
  std::function<void(const Copy&)> copy;
  std::function<void(const Region&)> region;
  std::function<void(const spool::Allocation&)> allocation;
};

struct Unfinished {
  uint64_t dispatches, copies;
};

// `dependencies` determines what each operation waited for; without it, `after` stays empty and the walk is much faster.
// Returns the number of operations that never completed. Throws SpoolError if the spool is damaged.
Unfinished walk_spool(const SpoolReader& spool, const Visitor& visitor, DependencyTracker* dependencies = nullptr);

}  // namespace rpd::rocpd
