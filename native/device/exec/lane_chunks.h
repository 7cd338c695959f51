// Splits registers into chunks: a chunk has as many lanes as the host's vector registers have 32-bit words.
//
// A 64-bit value occupies two registers, one for its lower word and one for its upper word. Interleaving the words of two
// chunks within groups of 128 bits takes one instruction for each half of the result. This changes the order of the lanes. The
// order is the same for all operands and is undone on writing, so it does not matter to functions that work on one lane at a
// time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "exec/floating_point.h"
#include "isa/op.h"

namespace rpd {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
constexpr int kChunk = 16;
#elif defined(__AVX2__)
constexpr int kChunk = 8;
#else
constexpr int kChunk = 4;
#endif

using Words = uint32_t __attribute__((vector_size(kChunk * sizeof(uint32_t))));

// The values of a chunk's lanes.
template <class T>
struct Chunk {
  alignas(sizeof(Words)) T lane[kChunk];
};

// ---- the order of lanes ----

// The index, in a shuffle of two chunks, that gives element `i` of half `Half` of the interleaved chunks.
template <int Half>
constexpr int interleaved(int i) {
  return i / 4 * 4 + 2 * Half + i % 4 / 2 + i % 2 * kChunk;
}
// The index, in a shuffle of the two halves, that gives word `Word` of lane `i`.
template <int Word>
constexpr int separated(int i) {
  return i / 4 * 4 + i % 2 * 2 + Word + i % 4 / 2 * kChunk;
}
// The lane whose 64-bit value is at position `i`, and the position of a lane's 64-bit value.
constexpr int lane_at(int i) { return i % (kChunk / 2) / 2 * 4 + i % 2 + i / (kChunk / 2) * 2; }
constexpr int position_of(int lane) { return lane / 4 * 2 + lane % 2 + lane % 4 / 2 * (kChunk / 2); }

template <auto Index>
inline Words shuffled(const Words& a, const Words& b) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return Words(__builtin_shufflevector(a, b, Index(I)...));
  }(std::make_integer_sequence<int, kChunk>());
}

// ---- reading and writing ----

inline Words load_words(const uint32_t* from) {
  Words words;
  std::memcpy(&words, from, sizeof words);
  return words;
}

// Reads a chunk at `from`; the upper words of 64-bit values come from the next register. If `Interleaved`, the lanes are put
// into the order that is used for 64-bit values.
template <class T, bool Interleaved>
inline Chunk<T> load_chunk(const uint32_t* from) {
  Chunk<T> chunk;
  const Words words = load_words(from);
  if constexpr (sizeof(T) == 8) {
    const Words upper = load_words(from + kLanes);
    const Words first = shuffled<interleaved<0>>(words, upper), second = shuffled<interleaved<1>>(words, upper);
    std::memcpy(chunk.lane, &first, sizeof first);
    std::memcpy(chunk.lane + kChunk / 2, &second, sizeof second);
  } else {
    const Words ordered = Interleaved ? shuffled<lane_at>(words, words) : words;
    std::memcpy(chunk.lane, &ordered, sizeof ordered);
  }
  return chunk;
}

// The first or second half of a chunk's values, or all of the values if they are 32 bits wide.
template <class T>
inline Words half_of(const Chunk<T>& chunk, int half = 0) {
  Words words;
  std::memcpy(&words, chunk.lane + half * kChunk / 2, sizeof words);
  return words;
}

// For each lane, the word from `if_set` or `if_clear`, as selected by the mask. Bits of the mask beyond the chunk are ignored.
inline Words select_words(uint64_t mask, const Words& if_set, const Words& if_clear) {
  const Words bits = [&]<int... L>(std::integer_sequence<int, L...>) {
    return Words{(1u << L)...};
  }(std::make_integer_sequence<int, kChunk>());
  return (bits & static_cast<uint32_t>(mask)) != 0 ? if_set : if_clear;
}

// Writes the lanes that are set in the mask.
inline void store_words(uint32_t* to, const Words& words, uint64_t mask) {
  const Words merged = select_words(mask, words, load_words(to));
  std::memcpy(to, &merged, sizeof merged);
}

template <bool Interleaved, bool All, class T>
inline void store_chunk(uint32_t* to, const Chunk<T>& chunk, uint64_t mask) {
  const auto store = [mask](uint32_t* destination, const Words& words) {
    if constexpr (All) std::memcpy(destination, &words, sizeof words);
    else store_words(destination, words, mask);
  };
  const Words first = half_of(chunk);
  if constexpr (sizeof(T) == 8) {
    const Words second = half_of(chunk, 1);
    store(to, shuffled<separated<0>>(first, second));
    store(to + kLanes, shuffled<separated<1>>(first, second));
  } else {
    store(to, Interleaved ? shuffled<position_of>(first, first) : first);
  }
}

// ---- tests of all lanes ----

#if defined(__AVX512F__) && defined(__AVX512DQ__)
inline bool any_nan(const Words& a, const Words& b, float) {
  return _mm512_cmp_ps_mask(std::bit_cast<__m512>(a), std::bit_cast<__m512>(b), _CMP_UNORD_Q) != 0;
}
inline bool any_nan(const Words& a, const Words& b, double) {
  return _mm512_cmp_pd_mask(std::bit_cast<__m512d>(a), std::bit_cast<__m512d>(b), _CMP_UNORD_Q) != 0;
}
#elif defined(__AVX2__)
inline bool any_nan(const Words& a, const Words& b, float) {
  return _mm256_movemask_ps(_mm256_cmp_ps(std::bit_cast<__m256>(a), std::bit_cast<__m256>(b), _CMP_UNORD_Q)) != 0;
}
inline bool any_nan(const Words& a, const Words& b, double) {
  return _mm256_movemask_pd(_mm256_cmp_pd(std::bit_cast<__m256d>(a), std::bit_cast<__m256d>(b), _CMP_UNORD_Q)) != 0;
}
#endif

template <class T>
inline bool any_nan(const Chunk<T>& chunk) {
#if defined(__AVX2__)
  return any_nan(half_of(chunk), half_of(chunk, sizeof(T) / 8), T{});
#else
  bool any = false;
  for (const T value : chunk.lane) any |= is_nan(value);
  return any;
#endif
}

template <class T>
inline bool any_nan(const Chunk<T>& a, const Chunk<T>& b) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4) return any_nan(half_of(a), half_of(b), T{});
#endif
  return any_nan(a) | any_nan(b);
}

// Returns one bit for each lane, from values that are all ones or all zeros.
inline uint64_t bits_of_words(const Words& words) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return _mm512_movepi32_mask(std::bit_cast<__m512i>(words));
#elif defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_ps(std::bit_cast<__m256>(words)));
#else
  uint64_t bits = 0;
  for (int l = 0; l < kChunk; ++l) bits |= uint64_t{words[l] & 1} << l;
  return bits;
#endif
}
inline uint64_t bits_of_lanes(const Chunk<int32_t>& lanes) { return bits_of_words(half_of(lanes)); }
inline uint64_t bits_of_lanes(const Chunk<int64_t>& lanes) {
  return bits_of_words(shuffled<separated<0>>(half_of(lanes), half_of(lanes, 1)));
}

}  // namespace rpd
