// SDMA packets of GFX9 (as ROCr and the Linux driver write them): each is a sequence of dwords; bits 7:0 of the first dword are
// the opcode, bits 15:8 the sub-opcode.
#pragma once

#include <cstdint>

namespace rpd::sdma {

enum Opcode : uint8_t {
  kNop = 0,
  kCopy = 1,
  kFence = 5,
  kTrap = 6,
  kPollRegmem = 8,
  kAtomic = 10,
  kConstantFill = 11,
  kTimestamp = 13,
  kGcr = 17,
};
enum CopySubOpcode : uint8_t { kLinear = 0, kLinearRect = 4 };
inline constexpr uint32_t kAtomicAdd64 = 47;

// One packet in the ring.
class Packet {
 public:
  explicit Packet(const uint32_t* dwords) : dwords_(dwords) {}

  uint32_t dword(int index) const { return dwords_[index]; }
  uint64_t qword(int index) const { return dwords_[index] | uint64_t{dwords_[index + 1]} << 32; }
  // Bits [low, low+width) of a dword.
  uint32_t bits(int index, int low, int width) const {
    return dwords_[index] >> low & static_cast<uint32_t>((uint64_t{1} << width) - 1);
  }
  uint8_t opcode() const { return static_cast<uint8_t>(dwords_[0]); }
  uint8_t sub_opcode() const { return static_cast<uint8_t>(dwords_[0] >> 8); }

  // Size in dwords; 0 if the opcode is not listed here.
  uint32_t length() const {
    switch (opcode()) {
      case kNop: return 1 + bits(0, 16, 14);
      case kCopy: return sub_opcode() == kLinear ? 7 : sub_opcode() == kLinearRect ? 13 : 0;
      case kFence: return 4;
      case kTrap: return 2;
      case kPollRegmem: return 6;
      case kAtomic: return 8;
      case kConstantFill: return 5;
      case kTimestamp: return 3;
      case kGcr: return 5;
      default: return 0;
    }
  }

 private:
  const uint32_t* dwords_;
};

// COPY_LINEAR_RECT copies a box of elements between two pitched volumes. Offsets, pitches and extents are in elements.
struct Box {
  uint64_t address;
  uint64_t x, y, z;
  uint64_t pitch, slice;
};
struct RectCopy {
  uint64_t element_bytes;
  Box source, target;
  uint64_t width, height, depth;

  explicit RectCopy(const Packet& p)
      : element_bytes(uint64_t{1} << p.bits(0, 29, 3)),
        source(box(p, 1)),
        target(box(p, 6)),
        width(p.bits(11, 0, 14) + 1),
        height(p.bits(11, 16, 14) + 1),
        depth(p.bits(12, 0, 11) + 1) {}

 private:
  static Box box(const Packet& p, int first) {
    return {p.qword(first),
            p.bits(first + 2, 0, 14),
            p.bits(first + 2, 16, 14),
            p.bits(first + 3, 0, 11),
            p.bits(first + 3, 13, 19) + uint64_t{1},
            p.bits(first + 4, 0, 28) + uint64_t{1}};
  }
};

}  // namespace rpd::sdma
