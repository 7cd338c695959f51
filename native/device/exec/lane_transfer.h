// Moves dwords between memory and registers, for one lane or for all lanes at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX512VL__)
#include <immintrin.h>
#endif

#include "exec/instruction_events.h"
#include "exec/transpose_words.h"
#include "isa/target.h"

namespace rpd {

#if defined(__AVX512VL__)
// For each of eight lanes whose bit in `mask` is set, loads dwords `First` to `Dwords` - 1 from `base` + the lane's offset.
template <int First, int Dwords>
inline void gather_eight(uint32_t* reg, const void* base, __m512i offsets, __mmask8 mask) {
  const auto keep = [=](int dword, __m256i words) { _mm256_mask_storeu_epi32(reg + dword * kLanes, mask, words); };
  const auto* from = static_cast<const uint32_t*>(base) + First;
  if constexpr (Dwords - First >= 2) {
    const __m512i pairs = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), mask, offsets, from, 1);
    keep(First, _mm512_cvtepi64_epi32(pairs));
    keep(First + 1, _mm512_cvtepi64_epi32(_mm512_srli_epi64(pairs, 32)));
    gather_eight<First + 2, Dwords>(reg, base, offsets, mask);
  } else if constexpr (Dwords - First == 1) {
    keep(First, _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), mask, offsets, from, 1));
  }
}
#endif

// Loads dwords into consecutive registers, laid out as [register][lane].
template <int Dwords>
struct LoadDwords {
  uint32_t* reg;

  void operator()(int l, const uint8_t* source) const {
    uint32_t values[Dwords];
    std::memcpy(values, source, sizeof values);
    for (int i = 0; i < Dwords; ++i) reg[i * kLanes + l] = values[i];
  }
  // Loads the lanes set in `lanes`, each from its own address. `first` is the host pointer for address `begin`.
  void each(const uint8_t* first, uint64_t begin, const uint64_t* address, uint64_t lanes) const {
#if defined(__AVX512VL__)
    const __m512i from = _mm512_set1_epi64(static_cast<int64_t>(begin));
    for (int l = 0; l < kLanes; l += 8)
      gather_eight<0, Dwords>(reg + l, first, _mm512_sub_epi64(_mm512_loadu_si512(address + l), from),
                              static_cast<__mmask8>(lanes >> l));
#else
    for (; lanes; lanes &= lanes - 1) {
      const int l = std::countr_zero(lanes);
      (*this)(l, first + (address[l] - begin));
    }
#endif
  }
  // Loads the lanes of a row, of which `l` is the first, all from the same address.
  void row_same(int l, const uint8_t* source) const {
    uint32_t values[Dwords];
    std::memcpy(values, source, sizeof values);
    for (int i = 0; i < Dwords; ++i) std::fill_n(reg + i * kLanes + l, kRowLanes, values[i]);
  }
  // Loads the lanes set in `lanes`, all from the same address.
  void same(const uint8_t* source, uint64_t lanes) const {
    uint32_t values[Dwords];
    std::memcpy(values, source, sizeof values);
    for (int i = 0; i < Dwords; ++i) {
      uint32_t* to = reg + i * kLanes;
      if (lanes == ~uint64_t{0}) std::fill_n(to, kLanes, values[i]);
      else
        for (int l = 0; l < kLanes; ++l) to[l] = lanes >> l & 1 ? values[i] : to[l];
    }
  }
  // Loads the lanes of a row, of which `first` is the first, from contiguous memory.
  void row(int first, const uint8_t* source) const {
    for (int l = first; l < first + kRowLanes; l += kChunk, source += kChunk * Dwords * sizeof(uint32_t)) {
      std::array<Words, Dwords> words;
      std::memcpy(words.data(), source, sizeof words);
      words = split_structures(words);
      for (int i = 0; i < Dwords; ++i) std::memcpy(reg + i * kLanes + l, &words[i], sizeof words[i]);
    }
  }
};

// Stores from consecutive registers.
template <int Dwords>
struct StoreDwords {
  const uint32_t* reg;

  void operator()(int l, uint8_t* destination) const {
    uint32_t values[Dwords];
    for (int i = 0; i < Dwords; ++i) values[i] = reg[i * kLanes + l];
    std::memcpy(destination, values, sizeof values);
  }
  // Stores the lanes of a row, of which `first` is the first, to contiguous memory.
  void row(int first, uint8_t* destination) const {
    for (int l = first; l < first + kRowLanes; l += kChunk, destination += kChunk * Dwords * sizeof(uint32_t)) {
      std::array<Words, Dwords> words;
      for (int i = 0; i < Dwords; ++i) std::memcpy(&words[i], reg + i * kLanes + l, sizeof words[i]);
      words = join_structures(words);
      std::memcpy(destination, words.data(), sizeof words);
    }
  }
};

// Calls `access(lane, host pointer)` for the lanes of a row, of which `first` is the first, or access.row() if `Access` has
// such a function. The `bytes` bytes of the first lane are at `pointer`, those of the next lane follow, and so on.
template <class Access>
void access_row(const Access& access, int first, uint8_t* pointer, uint32_t bytes) {
  if constexpr (requires { access.row(first, pointer); }) {
    access.row(first, pointer);
  } else {
    for (int l = 0; l < kRowLanes; ++l) access(first + l, pointer + l * static_cast<ptrdiff_t>(bytes));
  }
}

// The same for all lanes.
template <class Access>
void access_all(const Access& access, uint8_t* pointer, uint32_t bytes) {
  for (int l = 0; l < kLanes; l += kRowLanes) access_row(access, l, pointer + l * static_cast<ptrdiff_t>(bytes), bytes);
}

// The same for a row of lanes, of which `first` is the first, all at the same address.
template <class Access>
void access_row_same(const Access& access, int first, uint8_t* pointer) {
  if constexpr (requires { access.row_same(first, pointer); }) access.row_same(first, pointer);
  else
    for (int l = 0; l < kRowLanes; ++l) access(first + l, pointer);
}

// The same for the lanes set in `lanes`, all at the same address.
template <class Access>
void access_same(const Access& access, uint8_t* pointer, uint64_t lanes) {
  if constexpr (requires { access.same(pointer, lanes); }) access.same(pointer, lanes);
  else
    for (; lanes; lanes &= lanes - 1) access(std::countr_zero(lanes), pointer);
}

// The same for the lanes set in `lanes`, each at its own address. `first` is the host pointer for address `begin`.
template <class Access>
void access_each(const Access& access, uint8_t* first, uint64_t begin, const uint64_t* address, uint64_t lanes) {
  if constexpr (requires { access.each(first, begin, address, lanes); }) {
    access.each(first, begin, address, lanes);
  } else if (lanes == ~uint64_t{0}) {
    for (int l = 0; l < kLanes; ++l) access(l, first + (address[l] - begin));
  } else {
    for (; lanes; lanes &= lanes - 1) {
      const int l = std::countr_zero(lanes);
      access(l, first + (address[l] - begin));
    }
  }
}

// The same for an access whose pattern is not Any. `first` is the host pointer for address `begin`.
template <class Access>
void access_by_pattern(const Access& access, uint8_t* first, uint64_t begin, const VectorAccess& of) {
  if (of.pattern == LanePattern::Consecutive) return access_all(access, first + (of.first - begin), of.bytes);
  if (of.pattern == LanePattern::Same) return access_same(access, first + (of.first - begin), of.mask);
  for (int row = 0; row < kRows; ++row) {
    uint8_t* pointer = first + (of.address[row] - begin);
    if (of.step == 0) access_row_same(access, row * kRowLanes, pointer);
    else access_row(access, row * kRowLanes, pointer, of.bytes);
  }
}

}  // namespace rpd
