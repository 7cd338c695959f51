// AMD's own AQL packets.
#pragma once

#include <cstdint>

#include "memory/address_space.h"
#include "runtime/queues/aql_packets.h"
#include "runtime/queues/signals.h"

namespace rpd {

// BARRIER_VALUE: (signal value & mask) <condition> reference. A null signal satisfies the condition.
class ValueCondition {
 public:
  ValueCondition(const AddressSpace& memory, const hsa_amd_barrier_value_packet_t& packet);

  bool satisfied() const;
  uint64_t satisfied_at() const;

 private:
  const amd_signal_t* signal_;
  hsa_signal_condition_t condition_;
  int64_t reference_;
  int64_t mask_;
};

}  // namespace rpd
