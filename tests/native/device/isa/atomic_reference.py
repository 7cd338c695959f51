"""The effect of atomic operations: the new value from the old one and the operand(s), as integers of the given size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def as_float(value: int, bits: int):
    return np.array(value, f"u{bits // 8}").view(FLOATS[bits])[()]


def as_bits(value, bits: int) -> int:
    return int(FLOATS[bits](value).view(f"u{bits // 8}"))


def float_sum(old: int, value: int, bits: int) -> int:
    with np.errstate(all="ignore"):
        return as_bits(as_float(old, bits) + as_float(value, bits), bits)


def float_min(old: int, value: int, bits: int) -> int:
    return value if as_float(value, bits) < as_float(old, bits) else old


def float_max(old: int, value: int, bits: int) -> int:
    return value if as_float(value, bits) > as_float(old, bits) else old


def packed_half_sum(old: int, value: int, bits: int) -> int:
    return float_sum(old & 0xFFFF, value & 0xFFFF, 16) | float_sum(old >> 16, value >> 16, 16) << 16


def bfloat_sum(old: int, value: int) -> int:
    exact = np.float64(as_float(old << 16, 32)) + np.float64(as_float(value << 16, 32))
    bits = as_bits(np.float32(exact), 32)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def packed_bfloat_sum(old: int, value: int, bits: int) -> int:
    return bfloat_sum(old & 0xFFFF, value & 0xFFFF) | bfloat_sum(old >> 16, value >> 16) << 16


def mask(bits: int) -> int:
    return (1 << bits) - 1


Update = Callable[[int, int, int], int]  # old, value, bits
UPDATES: dict[str, Update] = {
    "add": lambda old, v, bits: old + v & mask(bits),
    "sub": lambda old, v, bits: old - v & mask(bits),
    "csub": lambda old, v, bits: max(old - v, 0),
    "rsub": lambda old, v, bits: v - old & mask(bits),
    "inc": lambda old, v, bits: 0 if old >= v else old + 1,
    "dec": lambda old, v, bits: v if old == 0 or old > v else old - 1,
    "smin": lambda old, v, bits: v if signed(v, bits) < signed(old, bits) else old,
    "umin": lambda old, v, bits: min(old, v),
    "smax": lambda old, v, bits: v if signed(v, bits) > signed(old, bits) else old,
    "umax": lambda old, v, bits: max(old, v),
    "and": lambda old, v, bits: old & v,
    "or": lambda old, v, bits: old | v,
    "xor": lambda old, v, bits: old ^ v,
    "swap": lambda old, v, bits: v,
    "add_f": float_sum,
    "min_f": float_min,
    "max_f": float_max,
    "pk_add_f16": packed_half_sum,
    "pk_add_bf16": packed_bfloat_sum,
}
