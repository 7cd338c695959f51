"""Values of the pseudo-code: typed integers, exact until they are stored, and floats as their bits; their arithmetic."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

FRACTION_BITS = {16: 10, 32: 23, 64: 52}
EXPONENT_BITS = {16: 5, 32: 8, 64: 11}
PACK = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


class Unsupported(Exception):
    """The pseudo-code uses something that this interpreter does not know."""


@dataclass(frozen=True)
class Value:
    """kind: U, I, B (integers; B is plain bits) or F, BF (floats, held as their bits), P (2 ** value), Z (+0.0 or -0.0
    written with its sign: only that zero equals it)."""

    kind: str
    size: int
    value: int

    @property
    def bits(self) -> int:
        return self.value & ((1 << self.size) - 1)

    @property
    def number(self) -> float:
        return float_of(self.value, self.size)

    @property
    def truth(self) -> bool:
        return self.value != 0


class Rounding(IntEnum):
    """Rounding modes, as the MODE register encodes them."""

    NEAREST = 0
    UP = 1
    DOWN = 2
    ZERO = 3


_rounding = [Rounding.NEAREST]


@contextmanager
def rounded(how: Rounding) -> Iterator[None]:
    """Sets the rounding of all floating-point results in the block."""
    _rounding.append(how)
    try:
        yield
    finally:
        _rounding.pop()


def float_of(bits: int, size: int) -> float:
    decode, encode = PACK[size]
    return struct.unpack(decode, struct.pack(encode, bits))[0]


def default_nan(size: int) -> int:
    return ((1 << (EXPONENT_BITS[size] + 1)) - 1) << (FRACTION_BITS[size] - 1)


def infinity(size: int, negative: bool) -> int:
    return (int(negative) << (size - 1)) | (((1 << EXPONENT_BITS[size]) - 1) << FRACTION_BITS[size])


def bits_of_float(number: float, size: int) -> int:
    """`number` rounded to `size` bits."""
    if number != number:
        return default_nan(size)
    decode, encode = PACK[size]
    if _rounding[-1] != Rounding.NEAREST and size != 64 and math.isfinite(number):
        return bits_of_fraction(Fraction(number), size, math.copysign(1, number) < 0)
    try:
        return struct.unpack(encode, struct.pack(decode, number))[0]
    except OverflowError:
        return infinity(size, number < 0)


def rounded_integer(magnitude: Fraction, away: bool | None) -> int:
    """away: True rounds away from zero, False toward it; None rounds to nearest, ties to even."""
    if away is None:
        return round(magnitude)
    return math.ceil(magnitude) if away else math.floor(magnitude)


def bits_of_fraction(number: Fraction, size: int, negative_zero: bool = False) -> int:
    """An exact rational rounded once."""
    if number == 0:
        return int(negative_zero) << (size - 1)
    how, negative = _rounding[-1], number < 0
    away = None if how == Rounding.NEAREST else how == (Rounding.DOWN if negative else Rounding.UP)
    fraction_bits = FRACTION_BITS[size]
    bias = (1 << (EXPONENT_BITS[size] - 1)) - 1
    magnitude = abs(number)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, 1 - bias) - fraction_bits)
    mantissa = rounded_integer(magnitude / unit, away)
    if exponent < 1 - bias:
        encoded = mantissa
    else:
        encoded = mantissa + ((exponent + bias - 1) << fraction_bits)  # the hidden bit adds the missing one
    largest = infinity(size, False) - (away is False)  # rounding toward zero, nothing finite becomes infinite
    return (int(negative) << (size - 1)) | min(encoded, largest)


def is_nan(bits: int, size: int) -> bool:
    return bits & ((1 << (size - 1)) - 1) > infinity(size, False)


def integer(value: int, kind: str = "I", size: int = 32) -> Value:
    return Value(kind, size, value)


def boolean(value: bool) -> Value:
    return Value("U", 1, int(value))


def real(number: float, size: int) -> Value:
    return Value("F", size, bits_of_float(number, size))


def convert(bits: int, kind: str, size: int) -> Value:
    """The low `size` bits read as `kind`."""
    bits &= (1 << size) - 1
    if kind == "I" and bits >> (size - 1):
        bits -= 1 << size
    return Value(kind, size, bits)


def cast_to(kind: str, size: int, value: Value) -> Value:
    """A cast between formats of one family keeps the value; one from bits to float keeps the bits."""
    if value.kind == "P":
        return value
    if kind == "F" and value.kind == "F":
        if value.size == size:
            return value
        if is_nan(value.bits, value.size):
            return Value("F", size, widen_nan(value, size))
        return real(value.number, size)
    if kind == "F" and value.kind == "BF":
        return Value("F", 32, value.bits << 16)
    return convert(value.value, kind, size)


def widen_nan(value: Value, size: int) -> int:
    """Keeps sign, payload and whether the NaN signals, so that isSignalNAN(64'F(x)) is meaningful."""
    shift = FRACTION_BITS[size] - FRACTION_BITS[value.size]
    payload = value.bits & ((1 << FRACTION_BITS[value.size]) - 1)
    payload = payload << shift if shift > 0 else payload >> -shift
    quiet_bit = 1 << (FRACTION_BITS[size] - 1)
    return infinity(size, bool(value.bits >> (value.size - 1))) | (payload or quiet_bit)


def promote(a: Value, b: Value) -> tuple[str, int]:
    if "F" in (a.kind, b.kind):
        return "F", max(v.size for v in (a, b) if v.kind == "F")
    size = max(a.size, b.size)
    kinds = {v.kind for v in (a, b)}
    return ("U" if "U" in kinds else "I" if "I" in kinds else "B"), size


def exact(value: Value) -> Fraction:
    return Fraction(value.number)


def arithmetic(op: str, a: Value, b: Value) -> Value:
    if b.kind == "P" or a.kind == "P":
        power, factor = (a, b) if a.kind == "P" else (b, a)
        return scale_by_power(factor, power.value)
    kind, size = promote(a, b)
    if kind == "F":
        return float_arithmetic(op, cast_to("F", size, a), cast_to("F", size, b), size)
    x, y = a.value, b.value
    if op == "/":
        return Value(kind, size, x // y)
    if op == "%":
        return Value(kind, size, x % y)
    return Value(kind, size, x + y if op == "+" else x - y if op == "-" else x * y)


def first_nan(*operands: Value) -> Value | None:
    """The first NaN among the operands, quieted: the result of an operation on it."""
    for v in operands:
        if is_nan(v.bits, v.size):
            return Value("F", v.size, v.bits | 1 << (FRACTION_BITS[v.size] - 1))
    return None


def float_arithmetic(op: str, a: Value, b: Value, size: int) -> Value:
    if nan := first_nan(a, b):
        return nan
    x, y = a.number, b.number
    if _rounding[-1] != Rounding.NEAREST and op in "+-*" and math.isfinite(x) and math.isfinite(y):
        return exact_arithmetic(op, x, y, size)
    try:
        if op == "/":
            if y == 0:
                if x == 0 or x != x:
                    return real(math.nan, size)
                return Value("F", size, infinity(size, math.copysign(1, x) != math.copysign(1, y)))
            # The quotient of two singles (or halves) in double precision rounds like the exact one.
            return real(x / y, size)
        return real(x + y if op == "+" else x - y if op == "-" else x * y, size)
    except OverflowError:
        return Value("F", size, infinity(size, False))


def exact_arithmetic(op: str, x: float, y: float, size: int) -> Value:
    if op == "*":
        negative = math.copysign(1, x) != math.copysign(1, y)
        return Value("F", size, bits_of_fraction(Fraction(x) * Fraction(y), size, negative))
    y = -y if op == "-" else y
    return Value("F", size, bits_of_fraction(Fraction(x) + Fraction(y), size, negative_zero_sum(x, y)))


def negative_zero_sum(x: float, y: float) -> bool:
    """The sign of a zero sum: that of both operands, or the one that the rounding mode gives."""
    negative = [math.copysign(1, v) < 0 for v in (x, y)]
    return negative[0] if negative[0] == negative[1] else _rounding[-1] == Rounding.DOWN


def scale_by_power(factor: Value, exponent: int) -> Value:
    if not math.isfinite(factor.number) or factor.number == 0:
        return first_nan(factor) or factor
    exponent = max(-5000, min(5000, exponent))
    return Value("F", factor.size, bits_of_fraction(exact(factor) * Fraction(2) ** exponent, factor.size))


def fused_multiply_add(a: Value, b: Value, c: Value) -> Value:
    if nan := first_nan(a, b, c):
        return nan
    size = a.size
    x, y, z = a.number, b.number, c.number
    sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    if not all(map(math.isfinite, (x, y, z))):
        product = x * y if not (math.isinf(x) and y == 0 or math.isinf(y) and x == 0) else math.nan
        if math.isfinite(x) and math.isfinite(y):
            product = sign  # finite: only z decides
        return real(product + z, size)
    product = exact(a) * exact(b)
    # Only a sum of two zeros has their sign; a sum that cancels out has the sign that the rounding mode gives.
    zero = negative_zero_sum(sign, z if product == 0 else -sign)
    return Value("F", size, bits_of_fraction(product + exact(c), size, zero))


def compare(op: str, a: Value, b: Value) -> Value:
    if b.kind == "Z":
        return boolean(a.number == 0 and a.bits >> (a.size - 1) == b.value)
    if "F" in (a.kind, b.kind):
        x = a.number if a.kind == "F" else float(a.value)
        y = b.number if b.kind == "F" else float(b.value)
        if op == "<>":
            return boolean(x < y or x > y)
    else:
        x, y = a.value, b.value
    return boolean({"==": x == y, "!=": x != y, "<>": x != y, "<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y}[op])


def shift(op: str, a: Value, b: Value) -> Value:
    if op == "<<":
        return Value(a.kind, max(a.size, 32), a.value << b.value)
    return Value(a.kind, a.size, a.value >> b.value)


def bitwise(op: str, a: Value, b: Value) -> Value:
    kind, size = promote(a, b)
    x, y = a.value, b.value
    return Value(kind, size, x & y if op == "&" else x | y if op == "|" else x ^ y)


def negate(op: str, value: Value) -> Value:
    if op == "!":
        return boolean(not value.truth)
    if op == "+":
        return value
    if op == "~":
        return convert(~value.value, value.kind, value.size)
    if value.kind == "F":
        return Value("F", value.size, value.bits ^ 1 << (value.size - 1))
    return Value(value.kind, value.size, -value.value)


def power_of(base: Value, exponent: Value) -> Value:
    if base.number != 2.0:
        raise Unsupported("a power of something other than two")
    return Value("P", 0, exponent.value)
