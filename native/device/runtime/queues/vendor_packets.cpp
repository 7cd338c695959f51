#include "runtime/queues/vendor_packets.h"

namespace rpd {

ValueCondition::ValueCondition(const AddressSpace& memory, const hsa_amd_barrier_value_packet_t& packet)
    : signal_(packet.signal.handle ? memory.at<amd_signal_t>(packet.signal.handle) : nullptr),
      condition_(static_cast<hsa_signal_condition_t>(packet.cond)),
      reference_(packet.value),
      mask_(packet.mask) {}

bool ValueCondition::satisfied() const {
  return !signal_ || condition_holds(condition_, load_value(*signal_) & mask_, reference_);
}

uint64_t ValueCondition::satisfied_at() const { return signal_ ? completion_time(*signal_) : 0; }

}  // namespace rpd
