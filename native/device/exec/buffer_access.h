// Derives the address that each lane of a buffer access uses from the resource descriptor, with range checks and swizzling.
//
// A lane's byte offset, relative to base + soffset, is offset + stride * index, where offset is the sum of the instruction's
// offset and the one in a register (offen). Out-of-range reads return 0, and out-of-range writes are dropped (CDNA3 ISA,
// "Buffer addressing"). The following are out of range:
//   raw         (stride 0, or no index)        byte offsets of num_records - soffset or more
//   structured  (with an index and a stride)   indices of num_records or more, and offsets of the stride or more
//
// A swizzled buffer stores the same dword of neighbouring elements together. The index stride is the number of elements that
// are grouped in this way (8, 16, 32 or 64). Only the start of an access is swizzled; its bytes are consecutive.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "exec/instruction_events.h"
#include "exec/lane_extent.h"
#include "exec/lane_transfer.h"
#include "exec/operands.h"
#include "exec/private_segment.h"

namespace rpd {

// The values of OOB_SELECT on gfx10, which determine what is checked (RDNA 2 ISA, "Range checking"); 3 is for raw buffers.
enum RangeCheck : uint32_t { kIndexAndOffset = 0, kIndex = 1, kAnyRecord = 2 };

struct BufferDescriptor {
  uint64_t base;
  uint32_t stride;  // bytes
  uint32_t records;  // a raw buffer's size in bytes; otherwise the number of elements, one per stride
  uint32_t index_stride;  // how many neighbours a swizzle keeps together
  uint32_t format;  // the last word: the data format and the source of each component
  bool swizzled;
  bool adds_lane;  // adds the lane's number to the index
  std::optional<uint32_t> check{};  // OOB_SELECT on gfx10, a RangeCheck; empty on gfx9, which checks as described above

  BufferDescriptor(const Wave& wave, const Operand& operand) {
    const uint32_t* word = &wave.scalar[operand.reg];
    base = word[0] | static_cast<uint64_t>(word[1] & 0xffff) << 32;
    stride = word[1] >> 16 & 0x3fff;
    records = word[2];
    swizzled = word[1] >> 31;
    format = word[3];
    index_stride = 8u << (format >> 21 & 3);
    adds_lane = format >> 23 & 1;
    if (target_of_device().rules.has_wave32) check = format >> 28 & 3;
    else if (adds_lane) stride |= (format >> 15 & 0xf) << 14;  // the data format's bits then hold the upper bits of the stride
  }

  // On gfx10, the number of bytes in range, starting at `offset`.
  uint64_t available(uint64_t index, uint64_t offset) const {
    constexpr uint64_t all = ~uint64_t{0};
    const auto up_to = [offset](uint64_t end) { return end > offset ? end - offset : 0; };
    switch (*check) {
      case kIndexAndOffset: return index < records ? up_to(stride) : 0;
      case kIndex: return index < records ? all : 0;
      case kAnyRecord: return records ? all : 0;
      default: return swizzled && stride ? (index < records ? up_to(stride) : 0) : up_to(records);
    }
  }

  uint64_t byte_of(uint64_t index, uint64_t offset) const {
    if (!swizzled) return offset + index * stride;
    constexpr uint64_t element = 4;
    const uint64_t row = index / index_stride * stride + offset / element * element;
    return row * index_stride + index % index_stride * element + offset % element;
  }
};

struct BufferLanes {
  alignas(64) uint64_t address[kLanes];
  alignas(64) uint64_t available[kLanes];  // bytes in range, counted from the address
};

// Locates the lanes' bytes for the kind of access that compilers generate for arrays: on gfx9, to a raw buffer that is not
// swizzled, with an offset in a register.
inline void locate_bytes(const Op& op, const Wave& wave, uint64_t base, uint64_t size, BufferLanes& out) {
  const uint32_t* offset = wave.registers(op.source[0]);
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t lane_offset = uint64_t{static_cast<uint32_t>(op.offset)} + offset[l];
    out.address[l] = base + lane_offset;
    out.available[l] = size > lane_offset ? size - lane_offset : 0;
  }
}

inline void locate(const Op& op, const Wave& wave, const BufferDescriptor& buffer, BufferLanes& out) {
  const uint64_t scalar_offset = read_scalar<uint32_t>(op.source[2], wave);
  const uint32_t* index = op.indexed ? wave.registers(op.source[0]) : nullptr;
  const uint32_t* offset = op.offset_in_register ? wave.registers(op.source[0]) + (op.indexed ? kLanes : 0) : nullptr;
  const bool structured = buffer.stride != 0 && (op.indexed || buffer.adds_lane);
  const uint64_t raw_size = buffer.records > scalar_offset ? buffer.records - scalar_offset : 0;
  if (offset && !index && !structured && !buffer.swizzled && !buffer.check)
    return locate_bytes(op, wave, buffer.base + scalar_offset, raw_size, out);
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t lane_offset = static_cast<uint32_t>(op.offset) + uint64_t{offset ? offset[l] : 0};
    const uint64_t element = uint64_t{index ? index[l] : 0} + (buffer.adds_lane ? l : 0);
    const uint64_t byte = buffer.byte_of(element, lane_offset);
    out.address[l] = buffer.base + scalar_offset + byte;
    if (buffer.check) {
      out.available[l] = buffer.available(element, lane_offset);
      continue;
    }
    const uint64_t end = structured ? (element < buffer.records ? buffer.stride : 0) : raw_size;
    const uint64_t checked = structured ? lane_offset : byte;
    out.available[l] = end > checked ? end - checked : 0;
  }
}

// Performs an access to the buffer that represents private memory: each lane's offset is relative to the start of the lane's
// own memory. A lane that is out of range raises a fault. Offsets are added modulo 2^32 because, from gfx9 on, compilers allow
// the offset in the register to be negative.
template <class Access>
void for_each_private_lane(const Op& op, Wave& wave, const BufferDescriptor& buffer, AccessKind kind, uint32_t size,
                           Access access) {
  const auto from =
      static_cast<uint32_t>(private_offset(wave, buffer.base, read_scalar<uint32_t>(op.source[2], wave)) + op.offset);
  const uint32_t* offset = op.offset_in_register ? wave.registers(op.source[0]) : nullptr;
  uint64_t lane_offsets[kLanes];
  for (int l = 0; l < kLanes; ++l) lane_offsets[l] = static_cast<uint32_t>(from + (offset ? offset[l] : 0));
  for (uint64_t remaining = wave.exec(); remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    if (lane_offsets[l] + size > wave.scratch_bytes) {
      return wave.raise("private memory (stack) access out of range", lane_offsets[l], FaultKind::ApertureViolation, l);
    }
    access(l, wave.scratch + static_cast<uint64_t>(l) * wave.scratch_bytes + lane_offsets[l], size);
  }
  if (wave.exec()) wave.observer->vector_access(wave, op, {kind, Space::Scratch, size, wave.exec(), lane_offsets});
}

// Whether `size` bytes are in range for every enabled lane.
inline bool all_in_range(const Wave& wave, const BufferLanes& lanes, uint32_t size) {
  const uint64_t exec = wave.exec();
  uint64_t shorter = 0;
  for (int l = 0; l < kLanes; ++l) shorter |= static_cast<uint64_t>(lanes.available[l] < size) & exec >> l;
  return (shorter & 1) == 0;
}

// A faster path for accesses that are entirely in range, if all memory from the lowest to the highest address is accessible:
// see lane_transfer.h. For other accesses, or if no lane is enabled, it does nothing and returns false.
template <class Transfer>
bool transfer_buffer_lanes(const Op& op, Wave& wave, AccessKind kind, uint32_t size, const BufferLanes& lanes,
                           const Transfer& transfer) {
  const uint64_t exec = wave.exec();
  if (exec == 0 || !all_in_range(wave, lanes, size)) return false;
  const AccessWindow all = extent(lanes.address, exec, size);
  if (!wave.is_accessible(op, all.begin, all.size, kind != AccessKind::Load)) return false;
  const VectorAccess access = access_to(Space::Global, kind, size, exec, lanes.address);
  auto* const first = wave.memory->at<uint8_t>(all.begin);
  if (access.consecutive()) access_all(transfer, first, size);
  else access_each(transfer, first, all.begin, lanes.address, exec);
  wave.observer->vector_access(wave, op, access);
  return true;
}

struct NoTransfer {};

// Calls `access(lane, host pointer, bytes in range)` for each enabled lane and notifies the observer; stops if a lane raises a
// fault. A lane accesses `size` bytes, in units of `unit` bytes. Each unit is either entirely in range or out of range. The
// pointer is null if no byte is in range. `transfer` does the same, faster, for accesses that are entirely in range.
template <class Access, class Transfer = NoTransfer>
void for_each_buffer_lane(const Op& op, Wave& wave, const BufferDescriptor& buffer, AccessKind kind, uint32_t unit,
                          uint32_t size, Access access, const Transfer& transfer = {}) {
  if (is_private_buffer(buffer.base)) [[unlikely]]
    return for_each_private_lane(op, wave, buffer, kind, size, access);
  BufferLanes lanes;
  locate(op, wave, buffer, lanes);
  if constexpr (!std::is_same_v<Transfer, NoTransfer>) {
    if (transfer_buffer_lanes(op, wave, kind, size, lanes, transfer)) return;
  }
  const uint64_t misaligned = kind == AccessKind::Atomic ? size - 1 : 0;
  uint64_t touched = 0;
  for (uint64_t remaining = wave.exec(); remaining; remaining &= remaining - 1) {
    const int l = std::countr_zero(remaining);
    const uint64_t address = lanes.address[l];
    const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(size, lanes.available[l] / unit * unit));
    if (bytes == 0) {
      access(l, static_cast<uint8_t*>(nullptr), 0u);
      continue;
    }
    if (address & misaligned) return wave.raise("misaligned atomic", address, FaultKind::ApertureViolation, l);
    if (!wave.may_access(op, address, bytes, kind != AccessKind::Load, l)) return;
    access(l, wave.memory->at<uint8_t>(address), bytes);
    touched |= uint64_t{1} << l;
  }
  if (touched == 0) return;
  wave.observer->vector_access(wave, op, access_to(Space::Global, kind, size, touched, lanes.address));
}

}  // namespace rpd
