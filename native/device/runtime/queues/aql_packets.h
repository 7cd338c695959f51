// AQL packets: 64 bytes, distinguished by the type in the header (HSA Platform System Architecture, 2.9).
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <cstring>

#include "isa/target.h"

namespace rpd {

inline constexpr uint64_t kAqlPacketBytes = 64;

// AMD's formats of vendor-specific packets, given in the byte after the header.
enum VendorFormat : uint8_t { kVendorPm4Ib = 1, kVendorBarrierValue = 2 };

inline uint8_t packet_type(uint16_t header) {
  return (header >> HSA_PACKET_HEADER_TYPE) & ((1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}
inline bool has_barrier_bit(uint16_t header) { return header >> HSA_PACKET_HEADER_BARRIER & 1; }
// Whether the release at the end of a dispatch writes back dirty lines of the L2. A device with a single L2 needs this only if
// other agents have to see those lines.
inline bool writes_back(uint16_t header) {
  const int scope = header >> HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE & 3;
  return scope >= (target::xcds() > 1 ? HSA_FENCE_SCOPE_AGENT : HSA_FENCE_SCOPE_SYSTEM);
}

// A vendor-specific packet that runs PM4 commands stored elsewhere in memory.
struct Pm4IbPacket {
  uint16_t header;
  uint16_t vendor_header;
  uint32_t jump[4];  // an INDIRECT_BUFFER command: opcode, address / 4, address >> 32, size in dwords
  uint32_t remaining_dwords;
  uint32_t reserved[8];
  hsa_signal_t completion_signal;
};
static_assert(sizeof(Pm4IbPacket) == kAqlPacketBytes);

// A copy of a packet, stored outside the ring.
struct AqlPacket {
  alignas(8) unsigned char bytes[kAqlPacketBytes];

  uint16_t header() const { return as<uint16_t>(); }
  uint8_t vendor_format() const { return bytes[2]; }
  // In every kind of packet the last eight bytes are the completion signal ...
  uint64_t completion_signal() const { return word(7); }
  // ... and the eight bytes before that are reserved. The submitting thread's virtual time is stored there on submission.
  uint64_t submit_time() const { return word(6); }

  template <class T>
  T as() const {
    static_assert(sizeof(T) <= kAqlPacketBytes);
    T packet;
    std::memcpy(&packet, bytes, sizeof packet);
    return packet;
  }

 private:
  uint64_t word(int index) const {
    uint64_t value;
    std::memcpy(&value, bytes + 8 * index, sizeof value);
    return value;
  }
};
inline constexpr uint64_t kSubmitTimeOffset = 48;

}  // namespace rpd
