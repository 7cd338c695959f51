// How the lanes of a vector access turn into write requests (for 64-byte blocks) and look-ups (of cache lines).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "exec/instruction_events.h"
#include "memory/cache.h"
#include "memory/find_equal.h"

namespace rpd {

constexpr uint32_t kRequestBytes = 64;  // a write or atomic request from the L1

// The number of lanes that the address unit accepts in one cycle. It is 4 for accesses of 8 or more bytes per lane (measured
// on an MI300X, vecCopy makes 16 look-ups for 64 lanes); in narrower accesses, 16 lanes coalesce into 64 bytes.
constexpr uint32_t kWideGroup = 4, kNarrowGroup = 16;
inline uint32_t lanes_per_look_up(uint32_t bytes) { return bytes >= 8 ? kWideGroup : kNarrowGroup; }

// The distinct line numbers of a group of lanes, in order of first use.
class LineSet {
 public:
  bool insert(uint64_t line) {
    bool present = false;
    for (uint32_t i = 0; i < size_; i += kBlock) {
      for (uint32_t j = 0; j < kBlock; ++j) present |= lines_[i + j] == line;
    }
    if (present) return false;
    if (size_ % kBlock == 0) std::fill_n(&lines_[size_], kBlock, ~uint64_t{0});
    lines_[size_++] = line;
    return true;
  }

 private:
  static constexpr uint32_t kBlock = 8;  // number of lines compared at a time
  std::array<uint64_t, 2 * kLanes> lines_;
  uint32_t size_ = 0;
};

template <class F>
void for_each_lane(uint64_t mask, F f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

// A single request: the bytes that one instruction writes to one 64-byte block.
struct WriteRequest {
  uint64_t block;  // address / 64
  uint64_t bytes;  // one bit per byte
};

// The write requests of one instruction, in order of first use.
class RequestsByBlock {
 public:
  void add(uint64_t block, uint64_t bytes) {
    if (count_ != 0 && requests_[last_].block == block) {
      requests_[last_].bytes |= bytes;
      return;
    }
    size_t slot = block * 0x9e3779b97f4a7c15ull >> (64 - kSlotBits);
    while (slots_[slot] != 0 && requests_[slots_[slot] - 1].block != block) slot = (slot + 1) % kSlots;
    if (slots_[slot] == 0) {
      requests_[count_++] = {block, 0};
      slots_[slot] = count_;
    }
    last_ = slots_[slot] - 1u;
    requests_[last_].bytes |= bytes;
  }
  std::span<const WriteRequest> all() const { return {requests_.data(), count_}; }

 private:
  static constexpr int kSlotBits = 8;
  static constexpr size_t kSlots = 1 << kSlotBits;  // twice as many as can be needed
  std::array<uint8_t, kSlots> slots_{};  // open addressing; a slot holds a request's number, counted from 1, or 0 if it is free
  std::array<WriteRequest, 2 * kLanes> requests_;
  uint8_t count_ = 0;
  uint32_t last_ = 0;  // the request that was last added to, since neighbouring lanes mostly share one
};

inline uint64_t ones(uint64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

// The requests that write a range of bytes.
template <class F>
void for_each_block(uint64_t begin, uint64_t bytes, F emit) {
  const uint64_t end = begin + bytes;
  for (uint64_t block = begin / kRequestBytes; block * kRequestBytes < end; ++block) {
    const uint64_t from = std::max(begin, block * kRequestBytes) % kRequestBytes;
    const uint64_t until = std::min(end - block * kRequestBytes, uint64_t{kRequestBytes});
    emit(WriteRequest{block, ones(until) & ~ones(from)});
  }
}

template <class F>
void coalesce_rows(const VectorAccess& access, F emit) {
  RequestsByBlock requests;
  for (int row = 0; row < kRows; ++row) {
    const auto add = [&](const WriteRequest& request) { requests.add(request.block, request.bytes); };
    for_each_block(access.address[row], access.row_bytes(), add);
  }
  for (const WriteRequest& request : requests.all()) emit(request);
}

// Groups the lanes' writes into requests; lanes that write to the same block share a request.
template <class F>
void coalesce(const VectorAccess& access, F emit) {
  if (access.consecutive()) return for_each_block(access.first, uint64_t{access.bytes} * kLanes, emit);
  if (access.pattern == LanePattern::Rows) return coalesce_rows(access, emit);
  const uint64_t lanes = access.pattern == LanePattern::Same ? access.mask & -access.mask : access.mask;
  RequestsByBlock requests;
  for_each_lane(lanes, [&](int l) {
    const uint64_t begin = access.at(l);
    const uint32_t offset = begin % kRequestBytes;
    const uint64_t bytes = (uint64_t{1} << access.bytes) - 1;
    requests.add(begin / kRequestBytes, bytes << offset);
    if (offset + access.bytes > kRequestBytes) requests.add(begin / kRequestBytes + 1, bytes >> (kRequestBytes - offset));
  });
  for (const WriteRequest& request : requests.all()) emit(request);
}

// The largest number of lanes that update the same word of a block. Only lanes that share a request can share a word.
inline uint64_t updates_of_one_word(const VectorAccess& access, uint64_t block) {
  std::array<uint8_t, kRequestBytes / sizeof(uint32_t)> lanes{};
  for_each_lane(access.mask, [&](int l) {
    if (access.at(l) / kRequestBytes == block) ++lanes[access.at(l) % kRequestBytes / sizeof(uint32_t)];
  });
  return *std::max_element(lanes.begin(), lanes.end());
}

inline ByteMask in_line(const WriteRequest& request) {
  return request.block % 2 == 0 ? ByteMask{request.bytes, 0} : ByteMask{0, request.bytes};
}

// Finds the line in which each lane's access begins. Returns whether every active lane's access ends in the line where it
// begins.
inline bool find_lines(const VectorAccess& access, uint64_t* lines) {
  uint64_t crossing = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t begin = access.address[l], end = begin + access.bytes - 1;
    lines[l] = begin / kLineBytes;
    crossing |= (begin ^ end) & (uint64_t{0} - (access.mask >> l & 1));
  }
  return crossing < kLineBytes;
}

// The number of groups of lanes that contain an active lane.
inline uint64_t groups_in(const VectorAccess& access) {
  const uint32_t group = lanes_per_look_up(access.bytes);
  uint64_t groups = 0;
  for (uint32_t l = 0; l < kLanes; l += group) groups += (access.mask >> l & ones(group)) != 0;
  return groups;
}

// The number of distinct lines that the active lanes of each group access, summed over the groups.
template <uint32_t Group>
uint64_t distinct_in_groups(const uint64_t* lines, uint64_t mask) {
  uint64_t distinct = 0;
  for (uint32_t begin = 0; begin < kLanes; begin += Group) {
    for (auto remaining = static_cast<uint32_t>(mask >> begin & ones(Group)); remaining; ++distinct)
      remaining &= ~same_numbers<Group>(lines + begin, lines[begin + static_cast<uint32_t>(std::countr_zero(remaining))]);
  }
  return distinct;
}

// The number of L1 look-ups that a store makes: in each group of lanes, one for each line in which a lane's access begins.
inline uint64_t store_look_ups(const VectorAccess& access) {
  const uint32_t group = lanes_per_look_up(access.bytes);
  if (access.pattern == LanePattern::Same) return groups_in(access);
  uint64_t look_ups = 0;
  if (access.consecutive() || access.pattern == LanePattern::Rows) {
    for (uint32_t l = 0; l < kLanes; l += group) {
      look_ups += access.at(static_cast<int>(l + group) - 1) / kLineBytes - access.at(static_cast<int>(l)) / kLineBytes + 1;
    }
    return look_ups;
  }
  alignas(64) uint64_t lines[kLanes];
  find_lines(access, lines);
  return group == kWideGroup ? distinct_in_groups<kWideGroup>(lines, access.mask)
                             : distinct_in_groups<kNarrowGroup>(lines, access.mask);
}

}  // namespace rpd
