"""Functions and constants that the pseudo-code uses without defining them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from pseudocode_values import (
    EXPONENT_BITS,
    FRACTION_BITS,
    Value,
    bits_of_fraction,
    boolean,
    cast_to,
    convert,
    default_nan,
    fused_multiply_add,
    infinity,
    integer,
    is_nan,
    real,
    scale_by_power,
)


def saturating(low: int, high: int, size: int, kind: str) -> Callable[[Value], Value]:
    def to_integer(v: Value) -> Value:
        x = v.number if v.kind == "F" else v.value
        if x != x:
            return Value(kind, size, 0)
        return Value(kind, size, low if x <= low else high if x >= high else math.trunc(x))

    return to_integer


def rounding(function: Callable[[float], float]) -> Callable[[Value], Value]:
    def apply(v: Value) -> Value:
        x = v.number
        if not math.isfinite(x):
            return v if x == x else quiet(v)
        return real(math.copysign(float(function(x)), x), v.size)

    return apply


def through(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """A function of reals in double precision; NaN outside its domain."""

    def apply(v: Value) -> Value:
        if is_nan(v.bits, v.size):
            return quiet(v)
        try:
            return real(function(v.number), v.size)
        except (ValueError, OverflowError):
            return real(math.nan, v.size)

    return apply


def log_of_two(x: float) -> float:
    return -math.inf if x == 0 else math.log2(x)


def power(base: Value, exponent: Value) -> Value:
    try:
        return real(base.number**exponent.number, base.size)
    except OverflowError:
        return Value("F", base.size, infinity(base.size, False))


def exponent_of(v: Value) -> Value:
    return integer(v.bits >> FRACTION_BITS[v.size] & ((1 << EXPONENT_BITS[v.size]) - 1))


def mantissa_of(v: Value) -> Value:
    return real(math.frexp(v.number)[0], v.size)


def sign_extend_from(v: Value, width: Value) -> Value:
    n = width.value
    if n == 0:
        return Value("I", v.size, 0)
    return convert(convert(v.value, "I", min(n, v.size)).value, "I", v.size)


def normalised(low: float, scale: int, kind: str) -> Callable[[Value], Value]:
    def apply(v: Value) -> Value:
        x = v.number
        x = 0.0 if x != x else min(max(x, low), 1.0)
        return Value(kind, 16, round(Fraction(x) * scale))

    return apply


def quiet(v: Value) -> Value:
    return Value("F", v.size, v.bits | 1 << (FRACTION_BITS[v.size] - 1))


def is_signalling(v: Value) -> bool:
    return is_nan(v.bits, v.size) and not v.bits >> (FRACTION_BITS[v.size] - 1) & 1


def widen(size: int, kind: str) -> Callable[[Value], Value]:
    return lambda v: Value(kind, size, v.value)


def magnitude(v: Value) -> Value:
    return Value(v.kind, v.size, v.bits & ~(1 << (v.size - 1)) if v.kind == "F" else abs(v.value))


def integer_to_float(size: int) -> Callable[[Value], Value]:
    return lambda v: Value("F", size, bits_of_fraction(Fraction(v.value), size))


def float_to_float(size: int) -> Callable[[Value], Value]:
    """A conversion performed by an instruction: unlike a cast, it quiets NaNs."""
    return lambda v: quiet(cast_to("F", size, v)) if is_nan(v.bits, v.size) else cast_to("F", size, v)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "fma": fused_multiply_add,
    "trunc": rounding(math.trunc),
    "floor": rounding(math.floor),
    "fract": lambda v: real(v.number - math.floor(v.number), v.size) if math.isfinite(v.number) else v,
    "isEven": lambda v: boolean(math.isfinite(v.number) and v.number % 2 == 0),
    "sqrt": through(math.sqrt),
    "log2": through(log_of_two),
    "pow": power,
    "sin": through(math.sin),
    "cos": through(math.cos),
    "abs": magnitude,
    "sign": lambda v: boolean(bool(v.bits >> (v.size - 1))),
    "exponent": exponent_of,
    "mantissa": mantissa_of,
    "ldexp": lambda v, n: scale_by_power(v, n.value),
    "isNAN": lambda v: boolean(is_nan(v.bits, v.size)),
    "isSignalNAN": lambda v: boolean(is_signalling(v)),
    "isQuietNAN": lambda v: boolean(is_nan(v.bits, v.size) and not is_signalling(v)),
    "cvtToQuietNAN": quiet,
    "signext": lambda v: Value("I", 64, convert(v.value, "I", v.size).value),
    "signext_from_bit": sign_extend_from,
    "s_ff1_i32_b64": lambda v: integer((v.bits & -v.bits).bit_length() - 1),
    "f32_to_i32": saturating(-(2**31), 2**31 - 1, 32, "I"),
    "f32_to_u32": saturating(0, 2**32 - 1, 32, "U"),
    "f64_to_i32": saturating(-(2**31), 2**31 - 1, 32, "I"),
    "f64_to_u32": saturating(0, 2**32 - 1, 32, "U"),
    "f16_to_i16": saturating(-(2**15), 2**15 - 1, 16, "I"),
    "f16_to_u16": saturating(0, 2**16 - 1, 16, "U"),
    "u32_to_u16": saturating(0, 2**16 - 1, 16, "U"),
    "i32_to_i16": saturating(-(2**15), 2**15 - 1, 16, "I"),
    "f32_to_snorm": normalised(-1.0, 32767, "I"),
    "f32_to_unorm": normalised(0.0, 65535, "U"),
    "f16_to_snorm": normalised(-1.0, 32767, "I"),
    "f16_to_unorm": normalised(0.0, 65535, "U"),
    "bf16_to_f32": lambda v: Value("F", 32, v.bits << 16),
    **{f"{kind}{n}_to_f{m}": integer_to_float(m)
       for kind in "iu" for n in (16, 32) for m in (16, 32, 64)},
    **{f"f{n}_to_f{m}": float_to_float(m) for n in (16, 32, 64) for m in (16, 32, 64)},
    **{f"{kind}{n}_to_{kind}32": widen(32, kind.upper()) for kind in "iu" for n in (4, 8, 16)},
}  # fmt: skip

CONSTANTS = {
    "INF": Value("F", 64, infinity(64, False)),
    "NAN": Value("F", 64, default_nan(64)),
    "PI": real(math.pi, 64),
    "UNDERFLOW_F32": real(0.0, 32),
    "UNDERFLOW_F64": real(0.0, 64),
    "OVERFLOW_F32": Value("F", 32, infinity(32, False)),
    "OVERFLOW_F64": Value("F", 64, infinity(64, False)),
}
