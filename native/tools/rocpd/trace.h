// One traced process, as its spool tells it: everything in the order of submission, completed or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rocpd/dependencies.h"
#include "rocpd/spool_reader.h"

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

struct Dispatch {
  spool::Dispatch fixed;
  uint64_t kernel_id = 0;  // 0: its kernel object belongs to no code object that was seen
  uint64_t start_ns = 0, end_ns = 0;
  bool completed = false;
  std::vector<double> counters;  // one a counter, or none
  std::vector<Edge> after;

  bool is_writable() const { return completed && kernel_id != 0; }
};

struct Copy {
  spool::Copy fixed;
  uint64_t start_ns = 0, end_ns = 0;
  bool completed = false;
  std::vector<Edge> after;
};

struct Region {
  spool::Region fixed;
  std::string function;
};

// What a Dependencies node is: an index into dispatches or copies.
struct NodeRef {
  bool is_copy;
  uint32_t index;
};

struct Trace {
  Process process;
  std::vector<Agent> agents;
  std::vector<Counter> counters;
  std::vector<spool::Queue> queues;
  std::vector<CodeObject> code_objects;
  std::vector<Kernel> kernels;
  std::vector<Dispatch> dispatches;
  std::vector<Copy> copies;
  std::vector<Region> regions;
  std::vector<spool::Allocation> allocations;
  std::vector<NodeRef> nodes;  // by Node
  uint64_t lost_records = 0;

  uint32_t node_of_queue(uint32_t queue_id) const;
};

// Throws SpoolError if the spool is damaged or has no process record.
Trace read_trace(const SpoolReader& spool);

}  // namespace rpd::rocpd
