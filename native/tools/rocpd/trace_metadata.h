// What a spool records about the traced process besides the operations themselves: the agents, queues, kernels and so on, and
// which operations are complete. This takes memory for each kernel, thread and the like, plus one bit per operation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rocpd/spool_walk.h"

namespace rpd::rocpd {

struct TracedProcess {
  spool::Process record;
  std::string command, environment, timing, device, timing_parameters, tracer_version;
};

struct TracedAgent {
  spool::Agent record;
  std::string name, model, vendor, product, extdata;
};

struct TracedCounter {
  std::string name, block, description;
};

struct TracedCodeObject {
  spool::CodeObject record;
  std::string uri;
};

struct TracedKernel {
  spool::Kernel record;
  std::string name;
};

// The ids of the operations that are in the database. Ids count from 1.
class OperationIds {
 public:
  void add(uint64_t id) {
    if (id >= bits_.size()) bits_.resize(id + 1);
    bits_[id] = true;
    ++count_;
  }
  bool contains(uint64_t id) const { return id < bits_.size() && bits_[id]; }
  uint64_t last() const { return bits_.empty() ? 0 : bits_.size() - 1; }
  uint64_t count() const { return count_; }

 private:
  std::vector<bool> bits_;
  uint64_t count_ = 0;
};

struct TraceMetadata {
  TracedProcess process;
  std::vector<TracedAgent> agents;
  std::vector<TracedCounter> counters;
  std::vector<spool::Queue> queues;
  std::vector<TracedCodeObject> code_objects;
  std::vector<TracedKernel> kernels;

  OperationIds dispatches, copies;
  uint64_t last_correlation = 0;
  uint64_t unfinished_dispatches = 0, dispatches_with_counters = 0, lost_records = 0;
  std::set<uint32_t> threads;
  std::set<std::string, std::less<>> functions;               // of regions
  std::set<std::pair<uint32_t, uint32_t>> copy_directions;  // (source node, destination node)
  std::vector<uint32_t> queues_used, streams_used;          // in the order of their first operation
  std::optional<uint32_t> counting_node;                      // the agent on which counters were first collected

  uint32_t node_of_queue(uint32_t queue_id) const;
};

// A dispatch of an unknown kernel cannot be described: the database has no row for such a kernel.
inline bool is_writable(const TracedDispatch& dispatch) { return dispatch.kernel_id != 0; }

// Throws SpoolError if the spool is damaged or has no process record.
TraceMetadata read_trace_metadata(const SpoolReader& spool);

}  // namespace rpd::rocpd
