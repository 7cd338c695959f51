// Splits structures of 32-bit words into vectors of their first words, their second words and so on, and joins them again. In
// memory, lanes that access several words each at consecutive addresses form such structures; registers hold a word of each
// lane.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "exec/lane_chunks.h"

namespace rpd {

constexpr int even(int i) { return 2 * i; }
constexpr int odd(int i) { return 2 * i + 1; }
// The index, in a shuffle of two vectors, that puts their elements alternately; `Half` is that of the vectors to take.
template <int Half>
constexpr int alternating(int i) {
  return Half * kChunk / 2 + i / 2 + i % 2 * kChunk;
}

// Shuffles for structures of three words. When splitting, `K` is the position of the word in its structure; when joining, it is
// the third of the structures to build. Each result takes two shuffles: one for the words from the first two vectors, one for
// those from the last.
template <int K>
constexpr int third_from_two(int i) {
  return 3 * i + K < 2 * kChunk ? 3 * i + K : 0;
}
template <int K>
constexpr int third_from_last(int i) {
  return 3 * i + K < 2 * kChunk ? i : 3 * i + K - kChunk;
}
template <int K>
constexpr int triple_of_two(int i) {
  return (K * kChunk + i) / 3 + (K * kChunk + i) % 3 % 2 * kChunk;
}
template <int K>
constexpr int triple_of_last(int i) {
  return (K * kChunk + i) % 3 == 2 ? kChunk + (K * kChunk + i) / 3 : i;
}

// From a chunk's structures of `Count` words, the first word of each structure, then the second word of each, and so on.
template <size_t Count>
inline std::array<Words, Count> split_structures(const std::array<Words, Count>& v) {
  if constexpr (Count == 1) {
    return v;
  } else if constexpr (Count == 3) {
    return [&]<int... K>(std::integer_sequence<int, K...>) {
      return std::array{shuffled<third_from_last<K>>(shuffled<third_from_two<K>>(v[0], v[1]), v[2])...};
    }(std::make_integer_sequence<int, 3>());
  } else {
    std::array<Words, Count / 2> evens, odds;
    for (size_t i = 0; i < Count / 2; ++i) {
      evens[i] = shuffled<even>(v[2 * i], v[2 * i + 1]);
      odds[i] = shuffled<odd>(v[2 * i], v[2 * i + 1]);
    }
    evens = split_structures(evens);
    odds = split_structures(odds);
    std::array<Words, Count> out;
    for (size_t i = 0; i < Count; ++i) out[i] = (i % 2 ? odds : evens)[i / 2];
    return out;
  }
}

// The opposite.
template <size_t Count>
inline std::array<Words, Count> join_structures(const std::array<Words, Count>& v) {
  if constexpr (Count == 1) {
    return v;
  } else if constexpr (Count == 3) {
    return [&]<int... K>(std::integer_sequence<int, K...>) {
      return std::array{shuffled<triple_of_last<K>>(shuffled<triple_of_two<K>>(v[0], v[1]), v[2])...};
    }(std::make_integer_sequence<int, 3>());
  } else {
    std::array<Words, Count / 2> evens, odds;
    for (size_t i = 0; i < Count; ++i) (i % 2 ? odds : evens)[i / 2] = v[i];
    evens = join_structures(evens);
    odds = join_structures(odds);
    std::array<Words, Count> out;
    for (size_t i = 0; i < Count / 2; ++i) {
      out[2 * i] = shuffled<alternating<0>>(evens[i], odds[i]);
      out[2 * i + 1] = shuffled<alternating<1>>(evens[i], odds[i]);
    }
    return out;
  }
}

}  // namespace rpd
