// The command processors of a device, one in each XCC (the compute part of an XCD): they run the PM4 commands that ROCr and
// profilers place in memory.
//
// The commands that have an effect here read or write registers or memory, run further commands or skip some, or invalidate
// caches. Most others only enforce an order that this device keeps anyway.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "memory/address_space.h"
#include "runtime/queues/aql_packets.h"
#include "runtime/queues/performance_monitor.h"

namespace rpd {

// The registers of which each queue has its own copy.
struct QueueRegisters {
  bool counts = false;  // COMPUTE_PERFCOUNT_ENABLE: whether the queue's dispatches are counted
};

class Pm4Commands {
 public:
  struct Outcome {
    bool drops_code = false;
    bool invalidates_l2 = false;
    std::string error;  // why a command could not be run (the commands after it were not run either), or empty
  };

  explicit Pm4Commands(const AddressSpace& memory);

  // Runs, on every XCC, the commands that the packet points to.
  Outcome run(const Pm4IbPacket& packet, QueueRegisters& queue);
  // To be called when a dispatch ends on a queue whose dispatches are counted.
  void count(const std::vector<double>& counters);

 private:
  const AddressSpace& memory_;
  std::mutex mutex_;  // queues run their commands on their own threads
  std::vector<PerformanceMonitor> monitors_;
};

}  // namespace rpd
