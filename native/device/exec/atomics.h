// The read-modify-write functions for atomics, both in LDS and in global memory. Each computes the new value from the old one
// and the operand.
#pragma once

#include <cstdint>
#include <cstring>

#include "exec/floating_point.h"

namespace rpd {

// Applies F to *at and returns the old value; atomic with respect to the device's other host threads and the program's threads.
template <class T, auto F>
T atomic_update(T* pointer, T operand) {
  using B = BitsFor<sizeof(T)>;
  auto* bits = reinterpret_cast<B*>(pointer);
  B old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    const B next = std::bit_cast<B>(F(std::bit_cast<T>(old), operand));
    if (__atomic_compare_exchange_n(bits, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return std::bit_cast<T>(old);
  }
}

template <class T>
T atomic_compare_swap(T* pointer, T compare, T value) {
  __atomic_compare_exchange_n(pointer, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}

namespace atomic {

template <class T>
T add(T old, T v) {
  return old + v;
}
template <class T>
T subtract(T old, T v) {
  return old - v;
}
template <class T>
T subtract_to_zero(T old, T v) {
  return old > v ? old - v : 0;
}
template <class T>
T reverse_subtract(T old, T v) {
  return v - old;
}
template <class T>
T smaller(T old, T v) {
  return v < old ? v : old;
}
template <class T>
T larger(T old, T v) {
  return v > old ? v : old;
}
template <class T>
T bit_and(T old, T v) {
  return old & v;
}
template <class T>
T bit_or(T old, T v) {
  return old | v;
}
template <class T>
T bit_xor(T old, T v) {
  return old ^ v;
}
template <class T>
T swap(T, T v) {
  return v;
}
template <class T>
T increment(T old, T v) {
  return old >= v ? 0 : old + 1;
}
template <class T>
T decrement(T old, T v) {
  return old == 0 || old > v ? v : old - 1;
}
template <class T>
T float_add(T old, T v) {
  return settle_nan(static_cast<T>(old + v), old, v);
}
template <class T>
T float_min(T old, T v) {
  return minimum<T, true>(old, v);
}
template <class T>
T float_max(T old, T v) {
  return maximum<T, true>(old, v);
}

inline uint32_t packed_half_add(uint32_t old, uint32_t v) {
  const auto half = [](uint32_t bits) { return std::bit_cast<Half>(static_cast<uint16_t>(bits)); };
  const auto low = float_add(half(old), half(v));
  const auto high = float_add(half(old >> 16), half(v >> 16));
  return std::bit_cast<uint16_t>(low) | uint32_t{std::bit_cast<uint16_t>(high)} << 16;
}

inline uint32_t round_to_bfloat(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  if (is_nan(v)) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline uint32_t packed_bfloat_add(uint32_t old, uint32_t v) {
  const auto single = [](uint32_t bits) { return std::bit_cast<float>(bits << 16); };
  return round_to_bfloat(single(old & 0xffff) + single(v & 0xffff)) | round_to_bfloat(single(old >> 16) + single(v >> 16))
                                                                          << 16;
}

}  // namespace atomic
}  // namespace rpd
