// Turns a plain function of values, such as [](float a, float b) { return a + b; }, into one that executes an instruction on 64
// lanes (or on scalars). The types of the operands are derived from the function's parameter types.
#pragma once

#include <limits>
#include <tuple>
#include <utility>

#include "exec/float_mode.h"
#include "exec/operands.h"
#include "exec/unmodified_operands_fast_path.h"
#include "isa/semantics.h"

namespace rpd {

template <class F>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<A...>;
  static constexpr size_t count = sizeof...(A);
  static constexpr std::array<Type, kMaxSources> types = [] {
    std::array<Type, kMaxSources> list{};
    size_t i = 0;
    ((list[i++] = type_of<std::remove_cvref_t<A>>()), ...);
    return list;
  }();
};
template <auto F>
using SignatureOf = Signature<decltype(+F)>;

// ---- vector: each source is an array of lanes ----

template <auto F, class... T>
void apply_lanes(const Op& op, Wave& wave, const Lanes<T>&... sources) {
  using R = typename SignatureOf<F>::Result;
  alignas(64) R out[kLanes];
  [&out](const auto*... source) {
    for (int l = 0; l < kLanes; ++l) out[l] = F(source[l]...);
  }(sources.data...);
  write_lanes<R>(op, wave, out);
}

template <auto F, size_t... I>
void run_lanes(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using Arguments = typename SignatureOf<F>::Arguments;
  apply_lanes<F>(op, wave, Lanes<std::tuple_element_t<I, Arguments>>(op, op.source[I], wave)...);
}

template <auto F>
void execute_vector(const Op& op, Wave& wave) {
  if (wave.exec() == 0) return;
  run_lanes<F>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

// ---- the same for modes with unusual floating point ----

template <class T>
void enter_mode(const FloatMode& mode, Lanes<T>& source) {
  if constexpr (is_float<T>) {
    if (!mode.keeps_operand_denormals<T>()) flush_denormals(source.own());
  }
}

// Saturates halves that overflow, if the mode requires it.
template <class R, class... T>
void saturate_results(const Op& op, const FloatMode& mode, R* results, const T*... operands) {
  if constexpr (std::is_same_v<R, Half>) {
    const bool has_poles = op.semantics->has_poles;
    if (!mode.saturates()) return;
    for (int l = 0; l < kLanes; ++l) {
      results[l] = saturated_half(results[l], (gives_infinity(operands[l], has_poles) || ...));
    }
  }
}

template <auto F, class R, class... T>
void compute_rounded(const Op& op, const FloatMode& mode, R* results, const T*... operands) {
  const HostRounding rounding(is_float<R> && op.semantics->rounds_by_mode ? mode.rounding<R, T...>() : FE_TONEAREST);
  for (int l = 0; l < kLanes; ++l) results[l] = F(operands[l]...);
  if constexpr (is_float<R>) modify_results(op, mode, results);
  force_computed(results);
}

template <auto F, class... T>
void apply_lanes_in_mode(const Op& op, Wave& wave, Lanes<T>&&... sources) {
  using R = typename SignatureOf<F>::Result;
  const FloatMode mode(wave.mode);
  (enter_mode(mode, sources), ...);
  alignas(64) R out[kLanes];
  compute_rounded<F>(op, mode, out, sources.data...);
  saturate_results(op, mode, out, sources.data...);
  flush_results(mode, out);
  write_lanes<R>(op, wave, out);
}

template <auto F, size_t... I>
void run_lanes_in_mode(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using Arguments = typename SignatureOf<F>::Arguments;
  apply_lanes_in_mode<F>(op, wave, Lanes<std::tuple_element_t<I, Arguments>>(op, op.source[I], wave)...);
}

template <auto F>
void execute_vector_in_mode(const Op& op, Wave& wave) {
  if (wave.exec() == 0) return;
  run_lanes_in_mode<F>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

template <class F>
constexpr bool kTakesFloats = false;
template <class R, class... A>
constexpr bool kTakesFloats<R (*)(A...)> = is_float<R> || (is_float<std::remove_cvref_t<A>> || ...);

// `in_mode` if MODE's floating-point bits can affect the instruction, otherwise null.
template <auto F>
constexpr Execute if_of_floats(Execute in_mode) {
  return kTakesFloats<decltype(+F)> ? in_mode : nullptr;
}

template <auto F>
constexpr Semantics vector(const char* mnemonic) {
  using S = SignatureOf<F>;
  Semantics entry{mnemonic, execute_vector<F>};
  entry.plain = plain_form<F, Nans::AsComputed, S>();
  entry.destination_type = type_of<typename S::Result>();
  entry.source_types = S::types;
  entry.in_mode = if_of_floats<F>(execute_vector_in_mode<F>);
  return entry;
}

constexpr Semantics with_plain_form(Semantics entry, Execute plain) {
  entry.plain = plain;
  return entry;
}
// Rounds to nearest, whatever MODE says.
constexpr Semantics rounds_to_nearest(Semantics entry) {
  entry.rounds_by_mode = false;
  return entry;
}
// Rounds to nearest, whatever MODE says, and returns infinity for an operand of 0.
constexpr Semantics with_poles(Semantics entry) {
  entry.has_poles = true;
  return rounds_to_nearest(entry);
}
// Works on the bits of its operands, including denormals, so MODE makes no difference.
constexpr Semantics regardless_of_mode(Semantics entry) {
  entry.in_mode = nullptr;
  return entry;
}

// For minima and maxima, whose results for signalling NaNs depend on the mode.
template <auto WithIeee, auto Without>
void execute_by_ieee(const Op& op, Wave& wave) {
  if (wave.mode & kModeIeee) execute_vector<WithIeee>(op, wave);
  else execute_vector<Without>(op, wave);
}

template <auto WithIeee, auto Without>
void execute_by_ieee_in_mode(const Op& op, Wave& wave) {
  if (wave.mode & kModeIeee) execute_vector_in_mode<WithIeee>(op, wave);
  else execute_vector_in_mode<Without>(op, wave);
}

template <auto WithIeee, auto Without>
void execute_plain_by_ieee(const Op& op, Wave& wave) {
  if (wave.mode & kModeIeee) execute_plain<WithIeee, Nans::AsComputed, SignatureOf<WithIeee>>(op, wave);
  else execute_plain<Without, Nans::AsComputed, SignatureOf<Without>>(op, wave);
}

template <auto WithIeee, auto Without>
constexpr Semantics by_ieee(const char* mnemonic) {
  Semantics entry = vector<WithIeee>(mnemonic);
  entry.execute = execute_by_ieee<WithIeee, Without>;
  entry.in_mode = execute_by_ieee_in_mode<WithIeee, Without>;
  if constexpr (has_plain_types<SignatureOf<WithIeee>>()) entry.plain = execute_plain_by_ieee<WithIeee, Without>;
  return entry;
}

// For arithmetic: F leaves out the NaN rule, and settle_nan is applied to its result.
template <auto F, class Function = decltype(+F)>
struct SettlesNans;
template <auto F, class R, class... A>
struct SettlesNans<F, R (*)(A...)> {
  static R value(A... operand) { return settle_nan(F(operand...), operand...); }
};
template <auto F>
constexpr Semantics arithmetic(const char* mnemonic) {
  Semantics entry = vector<SettlesNans<F>::value>(mnemonic);
  entry.plain = plain_form<F, Nans::Settled, SignatureOf<F>>();
  return entry;
}

// Integer clamping: the exact result is limited to the type's range.
template <auto Wrapping, auto Saturating>
void execute_saturating(const Op& op, Wave& wave) {
  if (op.clamp) execute_vector<Saturating>(op, wave);
  else execute_vector<Wrapping>(op, wave);
}

template <class T>
constexpr T saturated(int64_t exact) {
  constexpr int64_t low = std::numeric_limits<T>::min();
  constexpr int64_t high = std::numeric_limits<T>::max();
  return static_cast<T>(exact < low ? low : exact > high ? high : exact);
}

template <auto Wrapping, auto Saturating>
constexpr Semantics saturates(const char* mnemonic) {
  Semantics entry = vector<Wrapping>(mnemonic);
  entry.execute = execute_saturating<Wrapping, Saturating>;
  entry.saturates = true;
  return entry;
}

// Derives both functions for saturates() from one that returns the exact value.
template <class R, auto Exact, class F = decltype(+Exact)>
struct WrapOrSaturate;
template <class R, auto Exact, class... A>
struct WrapOrSaturate<R, Exact, int64_t (*)(A...)> {
  static R wrapped(A... operand) { return static_cast<R>(Exact(operand...)); }
  static R clamped(A... operand) { return saturated<R>(Exact(operand...)); }
};
template <class R, auto Exact>
constexpr Semantics wraps_or_saturates(const char* name) {
  return saturates<WrapOrSaturate<R, Exact>::wrapped, WrapOrSaturate<R, Exact>::clamped>(name);
}

// The 16-bit result leaves bits 31:16 of the destination unchanged (most such results clear them on gfx9: see write_lanes).
constexpr Semantics keeps_upper_half(Semantics entry) {
  entry.keeps_upper_half = true;
  return entry;
}

// Reads the destination as its last source, as v_fmac does.
constexpr Semantics accumulates(Semantics entry) {
  entry.accumulates = true;
  return entry;
}
template <auto F>
constexpr Semantics accumulate(const char* mnemonic) {
  return accumulates(vector<F>(mnemonic));
}

// ---- vector compare: writes one bit per lane (0 for disabled lanes) to a pair of scalar registers ----

template <auto F, bool WritesExec, class... T>
void apply_compare(const Op& op, Wave& wave, const Lanes<T>&... sources) {
  uint64_t mask = 0;
  [&mask](const auto*... source) {
    for (int l = 0; l < kLanes; ++l) mask |= static_cast<uint64_t>(F(source[l]...)) << l;
  }(sources.data...);
  mask &= wave.exec();
  wave.set_mask(op.destination.reg, mask);
  if constexpr (WritesExec) wave.set_exec(mask);
}

template <auto F, bool WritesExec, size_t... I>
void run_compare(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using Arguments = typename SignatureOf<F>::Arguments;
  apply_compare<F, WritesExec>(op, wave, Lanes<std::tuple_element_t<I, Arguments>>(op, op.source[I], wave)...);
}

template <auto F, bool WritesExec>
void execute_compare(const Op& op, Wave& wave) {
  run_compare<F, WritesExec>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

template <auto F, bool WritesExec, class... T>
void apply_compare_in_mode(const Op& op, Wave& wave, Lanes<T>&&... sources) {
  (enter_mode(FloatMode(wave.mode), sources), ...);
  apply_compare<F, WritesExec>(op, wave, sources...);
}

template <auto F, bool WritesExec, size_t... I>
void run_compare_in_mode(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using Arguments = typename SignatureOf<F>::Arguments;
  apply_compare_in_mode<F, WritesExec>(op, wave, Lanes<std::tuple_element_t<I, Arguments>>(op, op.source[I], wave)...);
}

template <auto F, bool WritesExec>
void execute_compare_in_mode(const Op& op, Wave& wave) {
  run_compare_in_mode<F, WritesExec>(op, wave, std::make_index_sequence<SignatureOf<F>::count>());
}

template <auto F, bool WritesExec>
constexpr Semantics compare(const char* mnemonic) {
  Semantics entry{mnemonic, execute_compare<F, WritesExec>};
  entry.plain = plain_compare<F, WritesExec, SignatureOf<F>>();
  entry.in_mode = if_of_floats<F>(execute_compare_in_mode<F, WritesExec>);
  entry.destination_type = Type::B64;
  entry.source_types = SignatureOf<F>::types;
  entry.writes_exec = WritesExec;
  return entry;
}

// ---- scalar: [](bool& scc, uint32_t a, uint32_t b) { ...; return value; } ----

template <class F>
struct ScalarSignature;
template <class R, class... A>
struct ScalarSignature<R (*)(bool&, A...)> : Signature<R (*)(A...)> {};
template <auto F>
using ScalarSignatureOf = ScalarSignature<decltype(+F)>;

template <auto F, size_t... I>
void run_scalar(const Op& op, Wave& wave, std::index_sequence<I...>) {
  using S = ScalarSignatureOf<F>;
  if constexpr (std::is_void_v<typename S::Result>) {
    F(wave.scc, read_scalar<std::tuple_element_t<I, typename S::Arguments>>(op.source[I], wave)...);
  } else {
    write_scalar(op.destination, wave,
                 F(wave.scc, read_scalar<std::tuple_element_t<I, typename S::Arguments>>(op.source[I], wave)...));
  }
}

template <auto F>
void execute_scalar(const Op& op, Wave& wave) {
  run_scalar<F>(op, wave, std::make_index_sequence<ScalarSignatureOf<F>::count>());
}

template <auto F>
constexpr Semantics scalar(const char* mnemonic) {
  using S = ScalarSignatureOf<F>;
  Semantics entry{mnemonic, execute_scalar<F>, Unit::Salu};
  if constexpr (std::is_void_v<typename S::Result>) {
    entry.destinations = 0;
    entry.destination_type = Type::None;
  } else {
    entry.destination_type = type_of<typename S::Result>();
  }
  entry.source_types = S::types;
  return entry;
}

}  // namespace rpd
