// Does half-precision arithmetic in single precision, a chunk of lanes at a time: most hosts can convert halves but cannot
// calculate with them.
#pragma once

#include "exec/lane_chunks.h"
#include "exec/unmodified_operands_fast_path.h"

#if defined(__F16C__) && defined(__AVX2__)
#define RPD_HOST_CONVERTS_HALVES 1
#else
#define RPD_HOST_CONVERTS_HALVES 0
#endif

namespace rpd {

#if RPD_HOST_CONVERTS_HALVES

// Converts the lower halves of the words to singles.
inline Chunk<float> singles_of(const Words& words) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return std::bit_cast<Chunk<float>>(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(std::bit_cast<__m512i>(words))));
#else
  const auto halves = std::bit_cast<__m256i>(words & 0xffff);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  return std::bit_cast<Chunk<float>>(_mm256_cvtph_ps(packed));
#endif
}

// Rounds to halves, which go into the lower 16 bits of each word. The upper 16 bits become 0.
inline Words halves_of(const Chunk<float>& singles) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  const __m256i halves = _mm512_cvtps_ph(std::bit_cast<__m512>(singles), _MM_FROUND_TO_NEAREST_INT);
  return std::bit_cast<Words>(_mm512_cvtepu16_epi32(halves));
#else
  const __m128i halves = _mm256_cvtps_ph(std::bit_cast<__m256>(singles), _MM_FROUND_TO_NEAREST_INT);
  return std::bit_cast<Words>(_mm256_cvtepu16_epi32(halves));
#endif
}

#else

inline Chunk<float> singles_of(const Words& words) {
  Chunk<float> singles;
  for (int l = 0; l < kChunk; ++l) singles.lane[l] = static_cast<float>(from_bits<Half>(static_cast<uint16_t>(words[l])));
  return singles;
}

inline Words halves_of(const Chunk<float>& singles) {
  Words words;
  for (int l = 0; l < kChunk; ++l) words[l] = bits_of(static_cast<Half>(singles.lane[l]));
  return words;
}

#endif

// ---- both halves of words at once: the words of half a chunk contain a whole chunk of singles ----

#if RPD_HOST_CONVERTS_HALVES

template <int Part>
inline Chunk<float> singles_of_both(const Words& words) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return std::bit_cast<Chunk<float>>(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(std::bit_cast<__m512i>(words), Part)));
#else
  return std::bit_cast<Chunk<float>>(_mm256_cvtph_ps(_mm256_extracti128_si256(std::bit_cast<__m256i>(words), Part)));
#endif
}

inline Words words_of_both(const Chunk<float>& first, const Chunk<float>& second) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  const auto narrowed = [](const Chunk<float>& singles) {
    return _mm512_cvtps_ph(std::bit_cast<__m512>(singles), _MM_FROUND_TO_NEAREST_INT);
  };
  return std::bit_cast<Words>(_mm512_inserti64x4(_mm512_castsi256_si512(narrowed(first)), narrowed(second), 1));
#else
  const auto narrowed = [](const Chunk<float>& singles) {
    return _mm256_cvtps_ph(std::bit_cast<__m256>(singles), _MM_FROUND_TO_NEAREST_INT);
  };
  return std::bit_cast<Words>(_mm256_set_m128i(narrowed(second), narrowed(first)));
#endif
}

#else

template <int Part>
inline Chunk<float> singles_of_both(const Words& words) {
  Chunk<float> singles;
  for (int i = 0; i < kChunk; ++i)
    singles.lane[i] =
        static_cast<float>(from_bits<Half>(static_cast<uint16_t>(words[Part * kChunk / 2 + i / 2] >> i % 2 * 16)));
  return singles;
}

inline Words words_of_both(const Chunk<float>& first, const Chunk<float>& second) {
  Words words{};
  for (int i = 0; i < kChunk; ++i) {
    words[i / 2] |= static_cast<uint32_t>(bits_of(static_cast<Half>(first.lane[i]))) << i % 2 * 16;
    words[kChunk / 2 + i / 2] |= static_cast<uint32_t>(bits_of(static_cast<Half>(second.lane[i]))) << i % 2 * 16;
  }
  return words;
}

#endif

// ---- arithmetic ----

// Computes in single precision; rounding each value to a half gives the instruction's result. Sums and products of two halves
// can safely be rounded twice, because a single has enough bits for the first rounding not to matter (24 >= 2 * 11 + 2;
// Figueroa, "When is double rounding innocuous?").
template <auto F>
struct RoundedTwice {
  template <class... S>
  static Chunk<float> compute(const S&... sources) {
    Chunk<float> out;
    for (int l = 0; l < kChunk; ++l) out.lane[l] = F(sources.lane[l]...);
    return out;
  }
};

// Computes a * b + c. Here, rounding twice can matter, but only if the single lies half-way between two halves.
struct FusedHalves {
  static Chunk<float> compute(const Chunk<float>& a, const Chunk<float>& b, const Chunk<float>& c) {
    Chunk<float> out;
    for (int l = 0; l < kChunk; ++l) out.lane[l] = std::fma(a.lane[l], b.lane[l], c.lane[l]);
    if (!any_half_way(out)) [[likely]]
      return out;
    for (int l = 0; l < kChunk; ++l) out.lane[l] = rounded_to_odd(a.lane[l], b.lane[l], c.lane[l]);
    return out;
  }

 private:
  // Denormal halves have fewer bits, so this returns true for any single that becomes a denormal half.
  static bool any_half_way(const Chunk<float>& singles) {
    constexpr uint32_t dropped_bits = 0x1fff, half_way = 0x1000, min_normal = 0x38800000;
    const Words bits = half_of(singles);
    const auto between = (bits & dropped_bits) == half_way, denormal = (bits & ~kSignBit<float>)-1 < min_normal - 1;
    return bits_of_words(Words(between | denormal)) != 0;
  }
  // The product is exact, and the sum is rounded to odd: see to_half().
  static float rounded_to_odd(float a, float b, float c) {
    const float product = a * b, sum = product + c, from_c = sum - product;
    const float error = (product - (sum - from_c)) + (c - from_c);
    const bool inexact = (error != 0) & (sum - sum == 0), away = (error < 0) != (sum < 0);
    return from_bits<float>((bits_of(sum) - (inexact & away)) | static_cast<uint32_t>(inexact));
  }
};

inline Half lower_half(uint32_t word) { return from_bits<Half>(static_cast<uint16_t>(word)); }

// Computes the lower halves of the results from the lower halves of the sources; the upper halves are 0. If any result is a
// NaN, uses `OfHalves`, which computes one result from halves and applies the NaN rule.
template <class OfSingles, auto OfHalves, class... W>
Words compute_halves(const W&... sources) {
  const Chunk<float> out = OfSingles::compute(singles_of(sources)...);
  Words halves = halves_of(out);
  if (any_nan(out)) [[unlikely]] {
    for (int l = 0; l < kChunk; ++l) halves[l] = bits_of(OfHalves(lower_half(sources[l])...));
  }
  return halves;
}

// Computes both halves of the results, each from the corresponding halves of the sources.
template <class OfSingles, auto OfHalves, class... W>
Words compute_both_halves(const W&... sources) {
  const Chunk<float> first = OfSingles::compute(singles_of_both<0>(sources)...);
  const Chunk<float> second = OfSingles::compute(singles_of_both<1>(sources)...);
  if (any_nan(first, second)) [[unlikely]]
    return compute_halves<OfSingles, OfHalves>(sources...) | compute_halves<OfSingles, OfHalves>(Words(sources >> 16)...) << 16;
  return words_of_both(first, second);
}

// ---- sources ----

// The lower halves of a source, with the operand's sign changes applied.
class HalfSource {
 public:
  HalfSource(const Operand& operand, const Wave& wave, OperandCopy& copy)
      : words_(words_of<uint32_t>(without_sign_changes(operand), wave, copy)),
        kept_bits_(operand.absolute ? ~kSign : ~0u),
        flipped_bits_(operand.negate ? kSign : 0) {}

  // The halves of the chunk that begins with this lane.
  Words at(int lane) const { return (load_words(words_.at(lane)) & kept_bits_) ^ flipped_bits_; }

 private:
  static constexpr uint32_t kSign = kSignBit<Half>;

  // The words are read without sign changes, since those would affect the word's sign bit instead of the half's.
  static Operand without_sign_changes(Operand operand) {
    operand.negate = operand.absolute = false;
    return operand;
  }

  SourceWords words_;
  uint32_t kept_bits_, flipped_bits_;
};

}  // namespace rpd
