#include "runtime/queues/vendor_packets.h"

namespace rpd {
namespace {

// PM4 type 3 commands: opcode in bits 15:8, count of following dwords minus one in bits 29:16.
constexpr uint32_t kOpcodeAcquireMem = 0x58;
constexpr uint32_t kOpcodeIndirectBuffer = 0x3f;

uint32_t opcode(uint32_t command) { return command >> 8 & 0xff; }
uint32_t length(uint32_t command) { return (command >> 16 & 0x3fff) + 2; }

}  // namespace

ValueCondition::ValueCondition(const AddressSpace& memory, const hsa_amd_barrier_value_packet_t& packet)
    : signal_(packet.signal.handle ? memory.at<amd_signal_t>(packet.signal.handle) : nullptr),
      condition_(static_cast<hsa_signal_condition_t>(packet.cond)),
      reference_(packet.value),
      mask_(packet.mask) {}

bool ValueCondition::satisfied() const {
  return !signal_ || condition_holds(condition_, load_value(*signal_) & mask_, reference_);
}

uint64_t ValueCondition::satisfied_at() const { return signal_ ? completion_time(*signal_) : 0; }

bool invalidates_code(const AddressSpace& memory, const Pm4IbPacket& packet) {
  if (opcode(packet.jump[0]) != kOpcodeIndirectBuffer) return true;  // not from ROCr: assume the worst
  const uint64_t address = uint64_t{packet.jump[1] & ~3u} | uint64_t{packet.jump[2] & 0xffff} << 32;
  const uint32_t dwords = packet.jump[3] & 0xfffff;
  const auto* commands = memory.at<const uint32_t>(address);
  for (uint32_t at = 0; at < dwords; at += length(commands[at]))
    if (opcode(commands[at]) == kOpcodeAcquireMem) return true;
  return false;
}

}  // namespace rpd
