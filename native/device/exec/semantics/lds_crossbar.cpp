// DS: moves between lanes, which use the crossbar of the local data share but none of its memory.
#include <bit>

#include "exec/operands.h"

namespace rpd {
namespace {

// The lane that lane `l` selects by an address: depending on the target, any lane or one in the same half of the wave.
uint32_t permuted_lane(const Op& op, uint32_t address, int l) {
  const uint32_t lanes = target_of_device().rules.permuted_lanes;
  return (static_cast<uint32_t>(l) & ~(lanes - 1)) | ((address + static_cast<uint32_t>(op.offset)) / 4 % lanes);
}

void permute_backward(const Op& op, Wave& wave) {
  const uint32_t* address = wave.registers(op.source[0]);
  const uint32_t* data = wave.registers(op.source[1]);
  const uint64_t exec = wave.exec();
  alignas(64) uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t from = permuted_lane(op, address[l], l);
    out[l] = exec >> from & 1 ? data[from] : 0;
  }
  write_lanes32(wave.registers(op.destination), out, exec);
}

void permute_forward(const Op& op, Wave& wave) {
  const uint32_t* address = wave.registers(op.source[0]);
  const uint32_t* data = wave.registers(op.source[1]);
  const uint64_t exec = wave.exec();
  alignas(64) uint32_t out[kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {
    if (exec >> l & 1) out[permuted_lane(op, address[l], l)] = data[l];
  }
  write_lanes32(wave.registers(op.destination), out, exec);
}

// The lane that each lane reads, within groups of 32. The control's upper bits select the pattern:
//   0b111  FFT: the bits of the lane's number in reverse order, except for those in the mask
//   0b110  rotation by offset[9:5], downwards if offset[10] is set, except for the bits in the mask
//   0b1    any lane within groups of four
//   0b0    ((lane & and) | or) ^ xor
int reversed5(int lane) {
  int out = 0;
  for (int bit = 0; bit < 5; ++bit) out |= (lane >> bit & 1) << (4 - bit);
  return out;
}
int fft_source(int lane, int mask) {
  if (mask == 0x1f) return lane;
  return (reversed5(lane) >> std::popcount(static_cast<unsigned>(mask))) | (lane & mask);
}
int rotated_source(uint32_t offset, int lane, int mask) {
  const int by = static_cast<int>(offset >> 5 & 0x1f);
  return (lane & mask) | ((offset & 0x400 ? lane - by : lane + by) & 0x1f & ~mask);
}
int swizzle_source(uint32_t offset, int lane) {
  const int within = lane & 0x1f;
  const int mask = offset & 0x1f;
  if ((offset & 0xe000) == 0xe000) return (lane & 32) | fft_source(within, mask);
  if ((offset & 0xe000) == 0xc000) return (lane & 32) | rotated_source(offset, within, mask);
  if (offset & 0x8000) return (lane & ~3) | (offset >> (2 * (lane & 3)) & 3);
  return (lane & 32) | (((within & mask) | (offset >> 5 & 0x1f)) ^ (offset >> 10 & 0x1f));
}

void swizzle(const Op& op, Wave& wave) {
  const uint32_t* data = wave.registers(op.source[0]);
  const uint64_t exec = wave.exec();
  alignas(64) uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const int from = swizzle_source(op.offset, l);
    out[l] = exec >> from & 1 ? data[from] : 0;
  }
  write_lanes32(wave.registers(op.destination), out, exec);
}

constexpr Semantics move(const char* name, Execute execute) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = Unit::Lds,
          .source_types = {Type::B32, Type::B32, Type::B32},
          .space = Space::Lds};
}

// The text shows the control as offset:swizzle(...); it is simpler to take it from the instruction's bits.
constexpr Semantics with_control(Semantics entry) {
  entry.offset_in_bits = true;
  return entry;
}

const Semantics kTable[] = {
    move("ds_bpermute_b32", permute_backward),
    move("ds_permute_b32", permute_forward),
    with_control(move("ds_swizzle_b32", swizzle)),
};

}  // namespace

std::span<const Semantics> lds_crossbar_semantics() { return kTable; }

}  // namespace rpd
