// Compares many bytes, or words, with a single value.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace rpd {

constexpr uint32_t kByteBlock = 16;

// Returns one bit for each byte, set if the byte equals `value`. `Count`: at most 64, and a multiple of kByteBlock.
template <uint32_t Count>
uint64_t find_equal(const uint8_t* bytes, uint8_t value) {
  static_assert(Count % kByteBlock == 0 && Count <= 64);
#if defined(__AVX512BW__)
  if constexpr (Count == 64)
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(static_cast<char>(value)));
#endif
  uint64_t same = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(value));
  for (uint32_t block = 0; block < Count; block += kByteBlock) {
    const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + block));
    same |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(loaded, wanted)))} << block;
  }
#else
  for (uint32_t i = 0; i < Count; ++i) same |= uint64_t{bytes[i] == value} << i;
#endif
  return same;
}

// ---- changes to single bytes, made by reading and writing all of them ----
// Otherwise, if the bytes are read together soon afterwards, the host has to wait until the narrow write has reached its cache.

template <uint32_t Count>
struct ByteVector {
  using Type [[gnu::vector_size(Count)]] = uint8_t;
};
template <uint32_t Count>
using Bytes = typename ByteVector<Count>::Type;

// All ones in the byte at `index`, and zeros elsewhere.
template <uint32_t Count>
Bytes<Count> only_byte(uint32_t index) {
  const auto numbers = [&]<uint8_t... I>(std::integer_sequence<uint8_t, I...>) {
    return Bytes<Count>{I...};
  }(std::make_integer_sequence<uint8_t, Count>());
  return Bytes<Count>(numbers == static_cast<uint8_t>(index));
}

template <uint32_t Count>
void set_byte(uint8_t* bytes, uint32_t index, uint8_t value) {
  Bytes<Count> all;
  std::memcpy(&all, bytes, sizeof all);
  const Bytes<Count> wanted = only_byte<Count>(index);
  all = (all & ~wanted) | (wanted & value);
  std::memcpy(bytes, &all, sizeof all);
}

// Sets the byte at `index` to 0, and adds 1 to all others that are less than `value`.
template <uint32_t Count>
void move_to_front(uint8_t* bytes, uint32_t index, uint8_t value) {
  Bytes<Count> all;
  std::memcpy(&all, bytes, sizeof all);
  all -= Bytes<Count>(all < value);  // the comparison gives -1
  all &= ~only_byte<Count>(index);
  std::memcpy(bytes, &all, sizeof all);
}

// Returns one bit for each of `Count` numbers, set if the number equals `value`.
template <uint32_t Count>
uint32_t same_numbers(const uint64_t* numbers, uint64_t value) {
  static_assert(Count == 4 || Count == 16);
  uint32_t same = 0;
#if defined(__AVX512VL__)
  if constexpr (Count == 4) {
    return _mm256_cmpeq_epi64_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers)),
                                   _mm256_set1_epi64x(static_cast<int64_t>(value)));
  } else {
    const __m512i wanted = _mm512_set1_epi64(static_cast<int64_t>(value));
    for (uint32_t i = 0; i < Count; i += 8)
      same |= uint32_t{_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(numbers + i), wanted)} << i;
  }
#else
  for (uint32_t i = 0; i < Count; ++i) same |= uint32_t{numbers[i] == value} << i;
#endif
  return same;
}

// Returns one bit for each of 16 words, set if the word equals `value`.
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
