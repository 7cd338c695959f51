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

struct Process {
  spool::Process fixed;
  std::string command, environment, timing, device, timing_parameters, tracer_version;
};

struct Agent {
  spool::Agent fixed;
  std::string name, model, vendor, product, extdata;
};

struct Counter {
  std::string name, block, description;
};

struct CodeObject {
  spool::CodeObject fixed;
  std::string uri;
};

struct Kernel {
  spool::Kernel fixed;
  std::string name;
};

// The ids of the operations that are in the database. Ids count from 1.
class Written {
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

struct ProcessDescription {
  Process process;
  std::vector<Agent> agents;
  std::vector<Counter> counters;
  std::vector<spool::Queue> queues;
  std::vector<CodeObject> code_objects;
  std::vector<Kernel> kernels;

  Written dispatches, copies;
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
inline bool is_writable(const Dispatch& dispatch) { return dispatch.kernel_id != 0; }

// Throws SpoolError if the spool is damaged or has no process record.
ProcessDescription read_process_description(const SpoolReader& spool);

}  // namespace rpd::rocpd
