// The command processors of a device, one in each XCC: they run the PM4 commands that ROCr and profilers put into memory.
//
// Commands set and read registers, and drop caches. Most of the others only order what this device does in order anyway, and
// have no effect.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "memory/address_space.h"
#include "runtime/queues/aql_packets.h"
#include "runtime/queues/performance_monitor.h"

namespace rpd {

// The registers that a queue has of its own.
struct QueueRegisters {
  bool counts = false;  // COMPUTE_PERFCOUNT_ENABLE: its dispatches are counted
};

class CommandProcessors {
 public:
  struct Outcome {
    bool drops_code = false;
    bool drops_l2 = false;
    std::string error;  // why a command could not be run, and no further one was; empty otherwise
  };

  explicit CommandProcessors(const AddressSpace& memory);

  // Runs the commands that the packet points to, on every XCC.
  Outcome run(const Pm4IbPacket& packet, QueueRegisters& queue);
  // A dispatch of a queue whose dispatches are counted has ended.
  void count(const std::vector<double>& counters);

 private:
  const AddressSpace& memory_;
  std::mutex mutex_;  // queues run their commands on their own threads
  std::vector<PerformanceMonitor> monitors_;
};

}  // namespace rpd
