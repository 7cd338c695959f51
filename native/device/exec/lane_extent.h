// How the addresses of lanes are related, and the byte range that their accesses span.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "exec/instruction_events.h"
#include "isa/target.h"
#include "memory/address_space.h"

namespace rpd {

// Whether each lane's offset is `bytes` above that of the previous lane, without wrapping around.
inline bool advance_by(const uint32_t* offset, uint32_t bytes) {
  uint32_t differ = 0;
  for (int l = 0; l < kLanes; ++l) differ |= offset[l] ^ (offset[0] + static_cast<uint32_t>(l) * bytes);
  return differ == 0 && offset[0] <= ~uint32_t{0} - (kLanes - 1) * bytes;
}

using RowWords [[gnu::vector_size(kRowLanes * sizeof(uint32_t))]] = uint32_t;  // [lane of a row]
constexpr RowWords kLaneOfRow = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

inline bool any_bit(const RowWords& words) {
#if defined(__AVX512F__)
  const auto all = std::bit_cast<__m512i>(words);
  return _mm512_test_epi32_mask(all, all) != 0;
#else
  uint64_t pairs[kRowLanes / 2], any = 0;
  std::memcpy(pairs, &words, sizeof pairs);
  for (const uint64_t pair : pairs) any |= pair;
  return any != 0;
#endif
}

// Whether, in each row, each lane's offset is `step` above that of the previous lane, without wrapping around.
inline bool advance_in_rows(const uint32_t* offset, uint32_t step) {
  const RowWords above = kLaneOfRow * step;
  RowWords differ{};
  uint32_t highest = 0;
#pragma GCC unroll 4
  for (const uint32_t* row = offset; row < offset + kLanes; row += kRowLanes) {
    RowWords offsets;
    std::memcpy(&offsets, row, sizeof offsets);
    differ |= offsets ^ (row[0] + above);
    highest = std::max(highest, row[0]);
  }
  return !any_bit(differ) && highest <= ~uint32_t{0} - (kRowLanes - 1) * step;
}

// Whether each row's first offset is `distance` above that of the previous row, without wrapping around.
inline bool rows_advance_by(const uint32_t* offset, uint32_t distance) {
  uint32_t differ = 0;
  for (uint32_t row = 1; row < kRows; ++row) differ |= offset[row * kRowLanes] ^ (offset[0] + row * distance);
  return differ == 0 && offset[0] <= ~uint32_t{0} - kRows * distance;
}

inline LanePattern pattern_of(const uint32_t* offset, uint64_t exec, uint32_t bytes) {
  const uint32_t step = offset[1] - offset[0];
  if (step != bytes && step != 0) return LanePattern::Any;
  if (exec != ~uint64_t{0}) return step == 0 && advance_by(offset, 0) ? LanePattern::Same : LanePattern::Any;
  if (!advance_in_rows(offset, step)) return LanePattern::Any;
  if (!rows_advance_by(offset, kRowLanes * step)) return LanePattern::Rows;
  return step == 0 ? LanePattern::Same : LanePattern::Consecutive;
}

// The range from the first to the last byte that any of these lanes accesses. `lanes` must not be 0.
inline AccessWindow extent(const uint64_t* address, uint64_t lanes, uint32_t bytes) {
#if defined(__AVX512F__)  // written out because compilers do not use AVX-512's 64-bit minima here
  __m512i lowest = _mm512_set1_epi64(-1), highest = _mm512_setzero_si512();
  for (int l = 0; l < kLanes; l += 8) {
    const __m512i eight = _mm512_loadu_si512(address + l);
    const auto mask = static_cast<__mmask8>(lanes >> l);
    lowest = _mm512_mask_min_epu64(lowest, mask, lowest, eight);
    highest = _mm512_mask_max_epu64(highest, mask, highest, eight);
  }
  const uint64_t first = _mm512_reduce_min_epu64(lowest), last = _mm512_reduce_max_epu64(highest);
#else
  uint64_t first = ~uint64_t{0}, last = 0;
  for (int l = 0; l < kLanes; ++l) {
    const bool takes_part = lanes >> l & 1;
    first = std::min(first, takes_part ? address[l] : ~uint64_t{0});
    last = std::max(last, takes_part ? address[l] : 0);
  }
#endif
  return {first, last - first + bytes};
}

// The same for the lanes of an access whose pattern is not Any.
inline AccessWindow extent(const VectorAccess& access) {
  if (access.pattern == LanePattern::Same) return {access.first, access.bytes};
  if (access.pattern == LanePattern::Consecutive) return {access.first, uint64_t{access.bytes} * kLanes};
  uint64_t lowest = access.address[0], highest = access.address[0];
  for (int row = 1; row < kRows; ++row) {
    lowest = std::min(lowest, access.address[row]);
    highest = std::max(highest, access.address[row]);
  }
  return {lowest, highest - lowest + access.row_bytes()};
}

}  // namespace rpd
