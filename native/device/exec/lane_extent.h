// How the addresses of lanes are related, and the byte range that their accesses span.
#pragma once

#include <algorithm>
#include <cstdint>

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

// The same, with the most frequent sizes as constants, which avoids the multiplications.
inline bool advance_by_size(const uint32_t* offset, uint32_t bytes) {
  switch (bytes) {
    case 4: return advance_by(offset, 4);
    case 8: return advance_by(offset, 8);
    case 16: return advance_by(offset, 16);
    default: return advance_by(offset, bytes);
  }
}

inline LanePattern pattern_of(const uint32_t* offset, uint64_t exec, uint32_t bytes) {
  const uint32_t step = offset[1] - offset[0];
  if (step == bytes && exec == ~uint64_t{0} && advance_by_size(offset, bytes)) return LanePattern::Consecutive;
  return step == 0 && advance_by(offset, 0) ? LanePattern::Same : LanePattern::Any;
}

// The range from the first to the last byte that any of these lanes accesses. `lanes` must not be 0.
inline AccessWindow extent(const uint64_t* address, uint64_t lanes, uint32_t bytes) {
#if defined(__AVX512F__)  // written out because compilers do not use AVX-512's 64-bit minima here
  __m512i least = _mm512_set1_epi64(-1), most = _mm512_setzero_si512();
  for (int l = 0; l < kLanes; l += 8) {
    const __m512i eight = _mm512_loadu_si512(address + l);
    const auto mask = static_cast<__mmask8>(lanes >> l);
    least = _mm512_mask_min_epu64(least, mask, least, eight);
    most = _mm512_mask_max_epu64(most, mask, most, eight);
  }
  const uint64_t first = _mm512_reduce_min_epu64(least), last = _mm512_reduce_max_epu64(most);
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

}  // namespace rpd
