// Plays a spool from its beginning and hands over each operation once it is whole: as submitted, with its times and
// counters, and with the operations that it had to wait for. Keeps only what is in flight, so that a spool of any
// length is read in the same memory.
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
  uint64_t kernel_id = 0;  // 0: its kernel object belongs to no code object that was seen
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<double> counters;  // one a counter, or none
  std::vector<Edge> after;
};

struct Copy {
  spool::Copy fixed;
  uint64_t start_ns = 0, end_ns = 0;
  std::vector<Edge> after;
};

struct Region {
  spool::Region fixed;
  std::string_view function;  // in the spool
};

// What is done with each; what is left empty is passed over.
struct Visitor {
  std::function<void(const RecordView&)> description;  // of the process, its agents, queues, code, kernels, counters
  std::function<void(const Dispatch&)> dispatch;
  std::function<void(const Copy&)> copy;
  std::function<void(const Region&)> region;
  std::function<void(const spool::Allocation&)> allocation;
};

struct Unfinished {
  uint64_t dispatches, copies;
};

// `dependencies` finds what each operation waited for; without it `after` stays empty, which is much quicker.
// Returns how many operations never became whole. Throws SpoolError if the spool is damaged.
Unfinished replay(const SpoolReader& spool, const Visitor& visitor, Dependencies* dependencies = nullptr);

}  // namespace rpd::rocpd
