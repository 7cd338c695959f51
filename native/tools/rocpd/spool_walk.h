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

struct TracedDispatch {
  spool::Dispatch record;
  uint64_t kernel_id = 0;  // 0: its kernel object is not in any recorded code object
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<double> counters;  // one value per counter, or empty
  std::vector<double> errors;  // the errors of estimated counters, NaN for the others; empty if no counter is estimated
  double duration_error = 0;  // a fraction; 0 if the duration is not an estimate
  std::vector<Edge> waited_for;
};

struct TracedCopy {
  spool::Copy record;
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<Edge> waited_for;
};

struct TracedRegion {
  spool::Region record;
  std::string_view function;  // points into the spool
};

// The function to call for each kind of record; kinds without a function are skipped.
struct Visitor {
  std::function<void(const RecordView&)> metadata;  // describes the process, its agents, queues, code, kernels, counters
  std::function<void(const TracedDispatch&)> dispatch;
  std::function<void(const TracedCopy&)> copy;
  std::function<void(const TracedRegion&)> region;
  std::function<void(const spool::Allocation&)> allocation;
};

struct UnfinishedCounts {
  uint64_t dispatches, copies;
};

// `dependencies` determines what each operation waited for; without it, `waited_for` stays empty and the walk is much faster.
// Returns the number of operations that never completed. Throws SpoolError if the spool is damaged.
UnfinishedCounts walk_spool(const SpoolReader& spool, const Visitor& visitor, DependencyTracker* dependencies = nullptr);

}  // namespace rpd::rocpd
