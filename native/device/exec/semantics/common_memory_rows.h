// The rows that the table of flat, global and scratch accesses has in common with the table of buffer accesses. The including
// file defines LOAD(NAME, EXECUTE, BYTES), STORE (with the same parameters) and ATOMIC_ONE(NAME, KIND, EXECUTE, BYTES), and
// provides the functions named here.
#pragma once

// clang-format off: one entry per row, as in a table

#define ATOMIC(NAME, KIND, FUNCTION, T32, T64)                                     \
  ATOMIC_ONE(NAME, KIND, (update<T32, atomic::FUNCTION<T32>>), 4),                  \
      ATOMIC_ONE(NAME "_x2", KIND, (update<T64, atomic::FUNCTION<T64>>), 8)

#define COMMON_LOADS \
  LOAD("dword", load_dwords<1>, 4), LOAD("dwordx2", load_dwords<2>, 8), LOAD("dwordx3", load_dwords<3>, 12), \
  LOAD("dwordx4", load_dwords<4>, 16), \
  LOAD("ubyte", (load_narrow<uint8_t, Half16::Whole>), 1), LOAD("sbyte", (load_narrow<int8_t, Half16::Whole>), 1), \
  LOAD("ushort", (load_narrow<uint16_t, Half16::Whole>), 2), LOAD("sshort", (load_narrow<int16_t, Half16::Whole>), 2), \
  LOAD("ubyte_d16", (load_narrow<uint8_t, Half16::Low>), 1), LOAD("ubyte_d16_hi", (load_narrow<uint8_t, Half16::High>), 1), \
  LOAD("sbyte_d16", (load_narrow<int8_t, Half16::Low>), 1), LOAD("sbyte_d16_hi", (load_narrow<int8_t, Half16::High>), 1), \
  LOAD("short_d16", (load_narrow<int16_t, Half16::Low>), 2), LOAD("short_d16_hi", (load_narrow<int16_t, Half16::High>), 2)

#define COMMON_STORES \
  STORE("dword", store_dwords<1>, 4), STORE("dwordx2", store_dwords<2>, 8), STORE("dwordx3", store_dwords<3>, 12), \
  STORE("dwordx4", store_dwords<4>, 16), \
  STORE("byte", (store_narrow<uint8_t, 0>), 1), STORE("byte_d16_hi", (store_narrow<uint8_t, 16>), 1), \
  STORE("short", (store_narrow<uint16_t, 0>), 2), STORE("short_d16_hi", (store_narrow<uint16_t, 16>), 2)

#define COMMON_ATOMICS \
  ATOMIC("add", Add, add, uint32_t, uint64_t), ATOMIC("sub", Add, subtract, uint32_t, uint64_t), \
  ATOMIC("smin", SignedMinimum, smaller, int32_t, int64_t), ATOMIC("umin", UnsignedMinimum, smaller, uint32_t, uint64_t), \
  ATOMIC("smax", SignedMaximum, larger, int32_t, int64_t), ATOMIC("umax", UnsignedMaximum, larger, uint32_t, uint64_t), \
  ATOMIC("and", And, bit_and, uint32_t, uint64_t), ATOMIC("or", Or, bit_or, uint32_t, uint64_t), \
  ATOMIC("xor", Xor, bit_xor, uint32_t, uint64_t), ATOMIC("swap", Exchange, swap, uint32_t, uint64_t), \
  ATOMIC("inc", Increment, increment, uint32_t, uint64_t), ATOMIC("dec", Decrement, decrement, uint32_t, uint64_t), \
  ATOMIC_ONE("cmpswap", Exchange, compare_swap<uint32_t>, 4), ATOMIC_ONE("cmpswap_x2", Exchange, compare_swap<uint64_t>, 8), \
  ATOMIC_ONE("add_f32", Float, (update<float, atomic::float_add<float>>), 4), \
  ATOMIC_ONE("add_f64", Float, (update<double, atomic::float_add<double>>), 8), \
  ATOMIC_ONE("min_f64", Float, (update<double, atomic::float_min<double>>), 8), \
  ATOMIC_ONE("max_f64", Float, (update<double, atomic::float_max<double>>), 8), \
  ATOMIC_ONE("fmin", Float, (update<float, atomic::float_min<float>>), 4), \
  ATOMIC_ONE("fmax", Float, (update<float, atomic::float_max<float>>), 4), \
  ATOMIC_ONE("fmin_x2", Float, (update<double, atomic::float_min<double>>), 8), \
  ATOMIC_ONE("fmax_x2", Float, (update<double, atomic::float_max<double>>), 8), \
  ATOMIC_ONE("csub", Exchange, (update<uint32_t, atomic::subtract_to_zero<uint32_t>>), 4), \
  ATOMIC_ONE("pk_add_f16", Float, (update<uint32_t, atomic::packed_half_add>), 4)
// clang-format on
