// A faster way to execute vector instructions in their plain form (isa/unmodified_operands.h), which is by far the most common
// form: one chunk of lanes after another, in registers of the host. The results are the same as those of the general
// implementation in lane_function.h.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "exec/lane_chunks.h"
#include "exec/operands.h"

namespace rpd {

// ---- operands ----

// Where a source's words are stored: [word][lane]. A value that is the same for all lanes has only one chunk.
struct SourceWords {
  const uint32_t* words;
  ptrdiff_t chunk_bytes = sizeof(Words);  // from a chunk to the next; 0 for a value that is the same for all lanes

  // The words of the chunk that begins with this lane. (The step is in bytes, so the host's address arithmetic can scale it.)
  const uint32_t* at(int lane) const {
    return reinterpret_cast<const uint32_t*>(reinterpret_cast<const std::byte*>(words) + lane / kChunk * chunk_bytes);
  }
};

// Room for the words of a source that is not in vector registers, or whose sign is changed: [word][lane].
struct OperandCopy {
  alignas(64) uint32_t words[2 * kLanes];
};
// `B`: uint32_t or uint64_t, for operands of one or two words.
template <class B>
SourceWords copy_operand(const Operand& operand, const Wave& wave, OperandCopy& copy);

template <class T>
inline SourceWords words_of(const Operand& operand, const Wave& wave, OperandCopy& copy) {
  const bool in_place = operand.kind == Operand::Kind::Vector && !(operand.negate | operand.absolute);
  if (in_place) [[likely]]
    return {wave.vector + operand.reg * kLanes};
  return copy_operand<Bits<sizeof(T)>>(operand, wave, copy);
}

template <class T>
using Address = const uint32_t*;
template <class T>
using Source = const SourceWords&;

// Whether values of these types fill registers; the plain form is implemented only for functions of such types.
template <class... T>
constexpr bool kFillWords = ((sizeof(T) == 4 || sizeof(T) == 8) && ...);
// Whether any of the types is 64 bits wide, which decides the order of lanes in chunks.
template <class... T>
constexpr bool kAnyWide = ((sizeof(T) == 8) || ...);

// ---- one result for each lane ----

// Where NaN results come from: the function itself, or the NaN rule for arithmetic (settle_nan), which such a function does not
// apply itself.
enum class Nans { AsComputed, Settled };

template <auto F, class R, class... T>
inline Chunk<R> compute_chunk(const Chunk<T>&... sources) {
  Chunk<R> out;
#pragma GCC unroll 1
  for (int l = 0; l < kChunk; ++l) out.lane[l] = F(sources.lane[l]...);
  return out;
}

// Computes a chunk whose results include NaNs.
template <auto F, class R, class... T>
[[gnu::noinline, gnu::cold]] void compute_settled(uint32_t* to, uint64_t mask, Address<T>... sources) {
  constexpr bool interleaved = kAnyWide<R, T...>;
  const auto settled = [](const Chunk<T>&... source) {
    Chunk<R> out = compute_chunk<F, R>(source...);
    for (int l = 0; l < kChunk; ++l) out.lane[l] = settle_nan(out.lane[l], source.lane[l]...);
    return out;
  };
  store_chunk<interleaved, false>(to, settled(load_chunk<T, interleaved>(sources)...), mask);
}

// Computes two chunks at a time, with a single test for NaNs. Neither chunk is written before that test, because settling NaNs
// reads the sources again, and the destination may be one of them.
template <auto F, Nans Rule, bool All, class R, class... T>
inline void compute_chunks(uint32_t* to, uint64_t exec, Source<T>... sources) {
  constexpr bool interleaved = kAnyWide<R, T...>;
#pragma GCC unroll 4
  for (int l = 0; l < kLanes; l += 2 * kChunk) {
    const int next = l + kChunk;
    const Chunk<R> first = compute_chunk<F, R>(load_chunk<T, interleaved>(sources.at(l))...);
    const Chunk<R> second = compute_chunk<F, R>(load_chunk<T, interleaved>(sources.at(next))...);
    if constexpr (Rule == Nans::Settled) {
      if (any_nan(first, second)) [[unlikely]] {
        compute_settled<F, R, T...>(to + l, exec >> l, sources.at(l)...);
        compute_settled<F, R, T...>(to + next, exec >> next, sources.at(next)...);
        continue;
      }
    }
    store_chunk<interleaved, All>(to + l, first, exec >> l);
    store_chunk<interleaved, All>(to + next, second, exec >> next);
  }
}

template <auto F, Nans Rule, class R, class... T>
inline void compute_lanes(uint32_t* to, uint64_t exec, Source<T>... sources) {
  if (exec == ~uint64_t{0}) [[likely]]
    compute_chunks<F, Rule, true, R, T...>(to, exec, sources...);
  else compute_chunks<F, Rule, false, R, T...>(to, exec, sources...);
}

template <auto F, Nans Rule, class S, size_t... I>
inline void run_plain(const Op& op, Wave& wave, std::index_sequence<I...>) {
  OperandCopy copies[sizeof...(I)];
  compute_lanes<F, Rule, typename S::Result, std::tuple_element_t<I, typename S::Arguments>...>(
      wave.registers(op.destination), wave.exec(),
      words_of<std::tuple_element_t<I, typename S::Arguments>>(op.source[I], wave, copies[I])...);
}

// `S`: the Signature of F.
template <auto F, Nans Rule, class S>
void execute_plain(const Op& op, Wave& wave) {
  if (wave.exec() == 0) return;
  run_plain<F, Rule, S>(op, wave, std::make_index_sequence<S::count>());
}

template <class... A>
constexpr bool takes_words(std::tuple<A...>*) {
  return kFillWords<A...>;
}
template <class S>
constexpr bool has_plain_types() {
  return kFillWords<typename S::Result> && takes_words(static_cast<typename S::Arguments*>(nullptr));
}

// Null if the function's types do not fill registers.
template <auto F, Nans Rule, class S>
constexpr Execute plain_form() {
  if constexpr (has_plain_types<S>()) return execute_plain<F, Rule, S>;
  else return nullptr;
}

// ---- comparisons: one bit for each lane ----

template <auto F, class... T>
inline uint64_t compare_chunk(const Chunk<T>&... sources) {
  Chunk<std::conditional_t<kAnyWide<T...>, int64_t, int32_t>> hits;
  for (int l = 0; l < kChunk; ++l) hits.lane[l] = F(sources.lane[l]...) ? -1 : 0;
  return bits_of_lanes(hits);
}

template <auto F, class... T>
inline uint64_t compare_lanes(Source<T>... sources) {
  uint64_t mask = 0;
#pragma GCC unroll 4
  for (int l = 0; l < kLanes; l += kChunk) mask |= compare_chunk<F>(load_chunk<T, kAnyWide<T...>>(sources.at(l))...) << l;
  return mask;
}

template <auto F, class S, size_t... I>
inline uint64_t run_plain_compare(const Op& op, const Wave& wave, std::index_sequence<I...>) {
  OperandCopy copies[sizeof...(I)];
  return compare_lanes<F, std::tuple_element_t<I, typename S::Arguments>...>(
      words_of<std::tuple_element_t<I, typename S::Arguments>>(op.source[I], wave, copies[I])...);
}

template <auto F, bool WritesExec, class S>
void execute_plain_compare(const Op& op, Wave& wave) {
  const uint64_t mask = wave.exec() & run_plain_compare<F, S>(op, wave, std::make_index_sequence<S::count>());
  wave.set_mask(op.destination.reg, mask);
  if constexpr (WritesExec) wave.set_exec(mask);
}

template <auto F, bool WritesExec, class S>
constexpr Execute plain_compare() {
  if constexpr (takes_words(static_cast<typename S::Arguments*>(nullptr))) return execute_plain_compare<F, WritesExec, S>;
  else return nullptr;
}

}  // namespace rpd
