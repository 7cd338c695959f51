// Moves dwords between memory and registers, for one lane or for all lanes at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX512VL__)
#include <immintrin.h>
#endif

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

  void operator()(int l, const uint8_t* at) const {
    uint32_t values[Dwords];
    std::memcpy(values, at, sizeof values);
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
  // Loads the lanes set in `lanes`, all from the same address.
  void same(const uint8_t* at, uint64_t lanes) const {
    uint32_t values[Dwords];
    std::memcpy(values, at, sizeof values);
    for (int i = 0; i < Dwords; ++i) {
      uint32_t* to = reg + i * kLanes;
      if (lanes == ~uint64_t{0}) std::fill_n(to, kLanes, values[i]);
      else
        for (int l = 0; l < kLanes; ++l) to[l] = lanes >> l & 1 ? values[i] : to[l];
    }
  }
  // Loads all lanes from contiguous memory.
  void all(const uint8_t* at) const {
    if constexpr (Dwords == 1) {
      std::memcpy(reg, at, kLanes * sizeof(uint32_t));
    } else {
      alignas(64) uint32_t copy[kLanes * Dwords];
      std::memcpy(copy, at, sizeof copy);
      for (int i = 0; i < Dwords; ++i)
        for (int l = 0; l < kLanes; ++l) reg[i * kLanes + l] = copy[l * Dwords + i];
    }
  }
};

// Stores from consecutive registers.
template <int Dwords>
struct StoreDwords {
  const uint32_t* reg;

  void operator()(int l, uint8_t* at) const {
    uint32_t values[Dwords];
    for (int i = 0; i < Dwords; ++i) values[i] = reg[i * kLanes + l];
    std::memcpy(at, values, sizeof values);
  }
  void all(uint8_t* at) const {
    if constexpr (Dwords == 1) {
      std::memcpy(at, reg, kLanes * sizeof(uint32_t));
    } else {
      alignas(64) uint32_t copy[kLanes * Dwords];
      for (int i = 0; i < Dwords; ++i)
        for (int l = 0; l < kLanes; ++l) copy[l * Dwords + i] = reg[i * kLanes + l];
      std::memcpy(at, copy, sizeof copy);
    }
  }
};

// Calls `access(lane, host pointer)` for all lanes, or access.all(first) if `Access` has such a function. The `bytes` bytes of
// lane l are at `first` + l * `bytes`.
template <class Access>
void access_all(const Access& access, uint8_t* first, uint32_t bytes) {
  if constexpr (requires { access.all(first); }) {
    access.all(first);
  } else {
    for (int l = 0; l < kLanes; ++l) access(l, first + l * static_cast<ptrdiff_t>(bytes));
  }
}

// The same for the lanes set in `lanes`, all at the same address.
template <class Access>
void access_same(const Access& access, uint8_t* at, uint64_t lanes) {
  if constexpr (requires { access.same(at, lanes); }) access.same(at, lanes);
  else
    for (; lanes; lanes &= lanes - 1) access(std::countr_zero(lanes), at);
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

}  // namespace rpd
