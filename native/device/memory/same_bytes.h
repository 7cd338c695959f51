// Compares many bytes with one.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace rpd {

constexpr uint32_t kByteBlock = 16;

// One bit for each of the bytes that equals `value`. `Count`: at most 64, in whole blocks.
template <uint32_t Count>
uint64_t same_bytes(const uint8_t* bytes, uint8_t value) {
  static_assert(Count % kByteBlock == 0 && Count <= 64);
#if defined(__AVX512BW__)
  if constexpr (Count == 64)
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(static_cast<char>(value)));
#endif
  uint64_t same = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(value));
  for (uint32_t block = 0; block < Count; block += kByteBlock) {
    const __m128i there = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + block));
    same |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(there, wanted)))} << block;
  }
#else
  for (uint32_t i = 0; i < Count; ++i) same |= uint64_t{bytes[i] == value} << i;
#endif
  return same;
}

// The same for 16 words.
inline uint32_t same_words(const uint32_t* words, uint32_t value) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(words), _mm512_set1_epi32(static_cast<int>(value)));
#else
  uint32_t same = 0;
  for (uint32_t i = 0; i < 16; ++i) same |= uint32_t{words[i] == value} << i;
  return same;
#endif
}

}  // namespace rpd
