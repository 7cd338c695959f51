"""Arithmetic against NumPy, exact fractions and the standard library: independent of AMD's pseudo-code.

Covers the facts about which the pseudo-code is silent or known to be idealised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from wave import DEFAULT_MODE, IEEE, LANES, Batch

import numpy as np
import pytest
from operands import draw
from pseudocode_values import bits_of_float, bits_of_fraction, float_of, is_nan

QUIET = {16: 0x200, 32: 0x400000, 64: 1 << 51}
DEFAULT_NAN = {16: 0x7E00, 32: 0x7FC00000, 64: 0x7FF8 << 48}
WAVES = 12


def run(
    assembler, probe, line: str, sources: list[tuple[np.ndarray, int]], result_bits: int, mode: int = DEFAULT_MODE
) -> np.ndarray:
    """Runs one instruction on [WAVES * 64] operands (bits, width) in v0, v2, v4. Returns v6 (the whole register)."""
    batch = Batch(assembler.assemble([line]), WAVES)
    batch.input["mode"] = mode
    for i, (bits, width) in enumerate(sources):
        bits = bits.astype(np.uint64).reshape(WAVES, LANES)
        batch.input["vgpr"][:, 2 * i] = bits & np.uint64(0xFFFFFFFF)
        if width == 64:
            batch.input["vgpr"][:, 2 * i + 1] = bits >> np.uint64(32)
    after = batch.run(probe)
    assert not after["faulted"].any(), after["fault"][0].decode()
    low, high = (after["vgpr"][:, register].reshape(-1).astype(np.uint64) for register in (6, 7))
    return low | high << np.uint64(32) if result_bits == 64 else low


def register(first: int, width: int) -> str:
    return f"v[{first}:{first + 1}]" if width == 64 else f"v{first}"


def check(assembler, probe, random, name: str, widths: tuple[int, ...], result: int, reference: Callable[..., int | None],
          tolerance: int = 0, modifiers: str = "", mode: int = DEFAULT_MODE) -> None:  # fmt: skip
    """`reference` takes the operands' bits and returns the result's, or None if any result is acceptable."""
    sources = [(draw(random, WAVES * LANES, width), width) for width in widths]
    operands = ", ".join([register(6, result), *(register(2 * i, width) for i, width in enumerate(widths))])
    got = run(assembler, probe, f"{name} {operands}{modifiers}", sources, result, mode)
    for i in range(got.size):
        arguments = [int(bits[i]) for bits, _ in sources]
        expected = reference(*arguments)
        value = int(got[i])
        if expected is None or value == expected or abs(value - expected) <= tolerance:
            continue
        raise AssertionError(f"{name}({', '.join(map(hex, arguments))}) = {value:#x}, expected {expected:#x}")


# ---- NaN: the first NaN operand, quieted; of an invalid operation 0x7fc00000 (positive) ----


def nan_rule(size: int, *operands: int) -> int:
    return next((bits | QUIET[size] for bits in operands if is_nan(bits, size)), DEFAULT_NAN[size])


def exact(operation: Callable[..., Fraction], size: int, limit: Callable[..., float]) -> Callable[..., int]:
    """Computes finite operands with exact fractions, and infinities and signs of zero with `limit` on floats."""

    def apply(*bits: int) -> int:
        numbers = [float_of(b, size) for b in bits]
        if any(is_nan(b, size) for b in bits):
            return nan_rule(size, *bits)
        with np.errstate(all="ignore"):
            limiting = limit(*map(np.float64, numbers))
        if all(map(math.isfinite, numbers)):
            value = operation(*map(Fraction, numbers))
            return bits_of_fraction(value, size, math.copysign(1, limiting) < 0)
        return nan_rule(size) if limiting != limiting else bits_of_float(float(limiting), size)

    return apply


def product_sign(a, b):
    """A product that is correct for infinities and zeros, and in its sign."""
    if a == 0 or b == 0 or not np.isfinite(a) or not np.isfinite(b):
        return a * b
    return math.copysign(1.0, a) * math.copysign(1.0, b)


def fused_sign(a, b, c):
    """A sum that is correct for infinities and, if the exact sum is zero, in its sign."""
    product = (
        np.sign(a) * np.sign(b) * (np.inf if np.isinf(a) or np.isinf(b) else 1.0)
        if not (np.isnan(a * b) and (a == 0 or b == 0))
        else np.nan
    )
    if a == 0 or b == 0:
        product = np.nan if np.isinf(a) or np.isinf(b) else math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b))
    if np.isinf(product) or np.isinf(c) or np.isnan(product):
        return product + c
    if product == 0 or c == 0:
        return product + c
    return 0.0  # cancels to +0, or is not zero at all


EXACT = [
    (f"v_{name}_{kind}", size, count, operation, limit)
    for kind, size in (("f16", 16), ("f32", 32), ("f64", 64))
    for name, count, operation, limit in (
        ("add", 2, lambda a, b: a + b, lambda a, b: a + b),
        ("mul", 2, lambda a, b: a * b, product_sign),
        ("fma", 3, lambda a, b, c: a * b + c, fused_sign),
    )
]  # fmt: skip


@pytest.mark.parametrize(("name", "size", "count", "operation", "limit"), EXACT, ids=[row[0] for row in EXACT])
def test_sums_and_products(assembler, probe, random, name, size, count, operation, limit):
    mask = 0xFFFF if size == 16 else (1 << size) - 1
    reference = exact(operation, size, limit)

    def low_half(*bits: int) -> int:
        return reference(*(b & mask for b in bits))

    sources = [(draw(random, WAVES * LANES, size), size) for _ in range(count)]
    operands = ", ".join([register(6, size), *(register(2 * i, size) for i in range(count))])
    got = run(assembler, probe, f"{name} {operands}", sources, max(size, 32))
    for i in range(got.size):
        arguments = [int(bits[i]) for bits, _ in sources]
        assert int(got[i]) & mask == low_half(*arguments), (
            name,
            [hex(a) for a in arguments],
            hex(int(got[i])),
            hex(low_half(*arguments)),
        )


# ---- rounding to integers, fractions, exponents ----


def rounded(function: Callable[[float], float], size: int) -> Callable[[int], int]:
    def apply(bits: int) -> int:
        if is_nan(bits, size):
            return nan_rule(size, bits)
        number = float_of(bits, size)
        return bits if math.isinf(number) else bits_of_float(math.copysign(function(number), number), size)

    return apply


def fraction(size: int) -> Callable[[int], int]:
    below_one = {16: 0x3BFF, 32: 0x3F7FFFFF, 64: 0x3FEFFFFFFFFFFFFF}[size]

    def apply(bits: int) -> int:
        number = float_of(bits, size)
        if not math.isfinite(number):
            return nan_rule(size, bits)
        return min(bits_of_fraction(Fraction(number) - math.floor(number), size), below_one)

    return apply


def exponent(size: int, result: int) -> Callable[[int], int]:
    """frexp's exponent, also for denormals; 0 for zero, infinity and NaN."""

    def apply(bits: int) -> int:
        number = float_of(bits, size)
        return math.frexp(number)[1] & ((1 << result) - 1) if math.isfinite(number) else 0

    return apply


def mantissa(size: int) -> Callable[[int], int]:
    def apply(bits: int) -> int:
        number = float_of(bits, size)
        if is_nan(bits, size):
            return nan_rule(size, bits)
        return bits_of_float(math.frexp(number)[0], size) if math.isfinite(number) else bits

    return apply


def scaled(size: int, exponent_bits: int) -> Callable[[int, int], int]:
    """ldexp rounds once, also into denormals; out of range it gives infinity or zero."""

    def apply(bits: int, by: int) -> int:
        if is_nan(bits, size):
            return nan_rule(size, bits)
        number = float_of(bits, size)
        by = by - (1 << exponent_bits) if by >> (exponent_bits - 1) else by
        if not math.isfinite(number) or number == 0:
            return bits
        return bits_of_fraction(Fraction(number) * Fraction(2) ** max(-3000, min(3000, by)), size, number < 0)

    return apply


UNARY = [
    *((f"v_{name}_{kind}", size, size, rounded(function, size)) for kind, size in (("f16", 16), ("f32", 32), ("f64", 64))
      for name, function in (("rndne", round), ("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc))),
    *((f"v_fract_{kind}", size, size, fraction(size)) for kind, size in (("f16", 16), ("f32", 32), ("f64", 64))),
    ("v_frexp_exp_i16_f16", 16, 16, exponent(16, 16)), ("v_frexp_exp_i32_f32", 32, 32, exponent(32, 32)),
    ("v_frexp_exp_i32_f64", 64, 32, exponent(64, 32)),
    *((f"v_frexp_mant_{kind}", size, size, mantissa(size)) for kind, size in (("f16", 16), ("f32", 32), ("f64", 64))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "size", "result", "reference"), UNARY, ids=[row[0] for row in UNARY])
def test_rounding_and_taking_apart(assembler, probe, random, name, size, result, reference):
    check(assembler, probe, random, name, (size,), result, reference)


@pytest.mark.parametrize(
    ("name", "size", "exponent_bits"), [("v_ldexp_f16", 16, 16), ("v_ldexp_f32", 32, 32), ("v_ldexp_f64", 64, 32)]
)
def test_scaling_by_powers_of_two(assembler, probe, random, name, size, exponent_bits):
    check(assembler, probe, random, name, (size, exponent_bits), size, scaled(size, exponent_bits))


# ---- conversions ----


def half_toward_zero(bits: int) -> int:
    number = float_of(bits, 32)
    if is_nan(bits, 32):
        return (bits >> 13 & 0x3FF) | (bits >> 16 & 0x8000) | 0x7E00
    if math.isinf(number):
        return bits_of_float(number, 16)
    nearest = min(bits_of_float(abs(number), 16), 0x7BFF)
    if float_of(nearest, 16) > abs(number):
        nearest -= 1
    return nearest | (0x8000 if bits >> 31 else 0)


def widened(bits: int) -> int:
    if is_nan(bits, 16):
        return (bits & 0x8000) << 16 | 0x7FC00000 | (bits & 0x3FF) << 13
    return bits_of_float(float_of(bits, 16), 32)


def narrowed(bits: int) -> int:
    if is_nan(bits, 32):
        return bits >> 16 & 0x8000 | 0x7E00 | bits >> 13 & 0x3FF
    return bits_of_float(float_of(bits, 32), 16)


def to_byte(bits: int, index: int, into: int) -> int:
    number = float_of(bits, 32)
    byte = 0 if number != number else max(0, min(255, round(number) if math.isfinite(number) else (255 if number > 0 else 0)))
    shift = 8 * (index & 3)
    return into & ~(0xFF << shift) & 0xFFFFFFFF | byte << shift


def nearest_half_up(bits: int) -> int:
    number = float_of(bits, 32)
    if number != number:
        return 0
    whole = math.floor(Fraction(number) + Fraction(1, 2)) if math.isfinite(number) else number
    return int(max(-(2**31), min(2**31 - 1, whole))) & 0xFFFFFFFF


CONVERSIONS = [
    ("v_cvt_pkrtz_f16_f32", (32, 32), 32, lambda a, b: half_toward_zero(a) | half_toward_zero(b) << 16),
    ("v_cvt_pk_u8_f32", (32, 32, 32), 32, to_byte),
    ("v_cvt_off_f32_i4", (32,), 32, lambda bits: bits_of_float(((bits & 15 ^ 8) - 8) / 16, 32)),
    ("v_cvt_rpi_i32_f32", (32,), 32, nearest_half_up),
    # Denormal halves are kept in both directions.
    ("v_cvt_f32_f16", (16,), 32, widened),
    ("v_cvt_f16_f32", (32,), 32, narrowed),
]  # fmt: skip


@pytest.mark.parametrize(("name", "widths", "result", "reference"), CONVERSIONS, ids=[row[0] for row in CONVERSIONS])
def test_conversions(assembler, probe, random, name, widths, result, reference):
    check(assembler, probe, random, name, widths, result, reference)


def test_a_byte_goes_into_the_destination(assembler, probe, random):
    value, index, old = (draw(random, WAVES * LANES, 32) for _ in range(3))
    line = "v_mov_b32 v6, v4\nv_cvt_pkaccum_u8_f32 v6, v0, v2"
    got = run(assembler, probe, line, [(value, 32), (index, 32), (old, 32)], 32)
    assert got.tolist() == [to_byte(*map(int, operands)) for operands in zip(value, index, old, strict=True)]


# ---- sums of differences that clamp holds to their range ----


@pytest.mark.parametrize(("name", "masked"), [("v_qsad_pk_u16_u8", False), ("v_mqsad_pk_u16_u8", True)])
def test_four_sums_of_differences_are_held_by_clamp(assembler, probe, random, name, masked):
    window, reference, old = (draw(random, WAVES * LANES, width) for width in (64, 32, 64))
    sources = [(window, 64), (reference, 32), (old, 64)]
    got = run(assembler, probe, f"{name} v[6:7], v[0:1], v2, v[4:5] clamp", sources, 64)
    for a, b, c, value in zip(*(numbers.tolist() for numbers in (window, reference, old, got)), strict=True):
        for i in range(4):
            pairs = [(a >> 8 * (i + k) & 0xFF, b >> 8 * k & 0xFF) for k in range(4)]
            exact = (c >> 16 * i & 0xFFFF) + sum(abs(x - y) for x, y in pairs if y or not masked)
            assert value >> 16 * i & 0xFFFF == min(exact, 0xFFFF)


# ---- the transcendental unit: one ulp, single-precision denormals flushed both ways ----


def transcendental(function: Callable[[float], float], size: int) -> Callable[[int], int | None]:
    smallest = 0x800000 if size == 32 else 0

    def apply(bits: int) -> int | None:
        if is_nan(bits, size):
            return nan_rule(size, bits)
        if size == 32 and bits & 0x7F800000 == 0:
            bits &= 0x80000000
        try:
            value = function(float_of(bits, size))
        except OverflowError:
            return None
        if value != value:
            return nan_rule(size)
        result = bits_of_float(value, size)
        return result & (1 << (size - 1)) if result & ((1 << (size - 1)) - 1) < smallest else result

    return apply


def reciprocal(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def root(x: float) -> float:
    return math.nan if x < 0 else math.sqrt(x)


def turns(function: Callable[[float], float]) -> Callable[[float], float]:
    """Any number of revolutions: the limit of 256 ended with gfx8."""

    def apply(x: float) -> float:
        return math.nan if math.isinf(x) else function(math.remainder(x, 1.0) * 2 * math.pi)

    return apply


def power_of_two(x: float) -> float:
    return 0.0 if x < -2000 else math.inf if x > 2000 else 2.0**x


def log_of_two(x: float) -> float:
    return -math.inf if x == 0 else math.nan if x < 0 else math.inf if math.isinf(x) else math.log2(x)


FUNCTIONS = {"rcp": reciprocal, "sqrt": root, "rsq": lambda x: reciprocal(root(x)) if x or x == 0 else x, "exp": power_of_two,
             "log": log_of_two, "sin": turns(math.sin), "cos": turns(math.cos)}  # fmt: skip


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_transcendentals(assembler, probe, random, function, kind):
    size = int(kind[1:])
    check(
        assembler, probe, random, f"v_{function}_{kind}", (size,), size, transcendental(FUNCTIONS[function], size), tolerance=1
    )


@pytest.mark.parametrize(("kind", "tolerance"), [("f32", 4e-7), ("f16", 1.5e-3)])
def test_angles_of_many_revolutions(assembler, probe, random, kind, tolerance):
    """All finite magnitudes: positions of 2048 tokens in a rotary embedding exceed 256 revolutions."""
    size, number = int(kind[1:]), np.dtype(f"f{int(kind[1:]) // 8}")
    shift = np.finfo(number).maxexp - 1
    turns = (random.standard_normal(WAVES * LANES) * np.exp2(random.uniform(0, shift - 2, WAVES * LANES))).astype(number)
    lines = f"v_sin_{kind} v6, v0\nv_cos_{kind} v7, v0"
    got = run(assembler, probe, lines, [(turns.view(f"u{size // 8}"), size)], 64)
    exact = np.remainder(turns.astype(np.float64), 1.0) * 2 * np.pi
    for bits, expected in ((got, np.sin(exact)), (got >> np.uint64(32), np.cos(exact))):
        values = bits.astype(f"u{size // 8}").view(number).astype(np.float64)
        assert np.abs(values - expected).max() <= tolerance
    assert (np.abs(turns.astype(np.float64)) > 256).mean() > 0.3


# ---- minima, maxima and medians of NaNs ----


def least(size: int, ieee: bool) -> Callable[[int, int], int]:
    def apply(a: int, b: int) -> int:
        for bits in (a, b):
            if ieee and is_nan(bits, size) and not bits & QUIET[size]:
                return bits | QUIET[size]
        if is_nan(a, size):
            return b
        if is_nan(b, size):
            return a
        x, y = float_of(a, size), float_of(b, size)
        if x == y == 0:
            return a | b
        return a if x < y else b

    return apply


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("ieee", [True, False])
def test_minimum(assembler, probe, random, size, ieee):
    mode = DEFAULT_MODE if ieee else DEFAULT_MODE & ~IEEE
    check(assembler, probe, random, f"v_min_f{size}", (size, size), size, least(size, ieee), mode=mode)


# ---- modifiers ----


def test_output_modifiers_do_nothing_where_denormals_are_kept(assembler, probe, random):
    lines = "v_mul_f32_e64 v6, v0, v2 mul:2\nv_mul_f32_e64 v7, v0, v2"
    values = draw(random, WAVES * LANES, 32), draw(random, WAVES * LANES, 32)
    got = run(assembler, probe, lines, [(v, 32) for v in values], 64)
    assert np.array_equal(got & np.uint64(0xFFFFFFFF), got >> np.uint64(32))


def saturated(value: int, low: int, high: int, mask: int) -> int:
    return max(low, min(high, value)) & mask


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


SATURATING = [
    ("v_add_u32", 32, lambda a, b: saturated(a + b, 0, 2**32 - 1, 2**32 - 1)),
    ("v_sub_u32", 32, lambda a, b: saturated(a - b, 0, 2**32 - 1, 2**32 - 1)),
    ("v_subrev_u32", 32, lambda a, b: saturated(b - a, 0, 2**32 - 1, 2**32 - 1)),
    ("v_add_i32", 32, lambda a, b: saturated(signed(a, 32) + signed(b, 32), -(2**31), 2**31 - 1, 2**32 - 1)),
    ("v_sub_i32", 32, lambda a, b: saturated(signed(a, 32) - signed(b, 32), -(2**31), 2**31 - 1, 2**32 - 1)),
    ("v_add_u16", 16, lambda a, b: saturated(a + b, 0, 65535, 65535)),
    ("v_sub_u16", 16, lambda a, b: saturated(a - b, 0, 65535, 65535)),
    ("v_add_i16", 16, lambda a, b: saturated(signed(a, 16) + signed(b, 16), -32768, 32767, 65535)),
    ("v_sub_i16", 16, lambda a, b: saturated(signed(a, 16) - signed(b, 16), -32768, 32767, 65535)),
]


@pytest.mark.parametrize(("name", "size", "reference"), SATURATING, ids=[row[0] for row in SATURATING])
def test_integer_clamp(assembler, probe, random, name, size, reference):
    sources = [(draw(random, WAVES * LANES, size), size) for _ in range(2)]
    suffix = "" if name in ("v_add_i32", "v_sub_i32", "v_add_i16", "v_sub_i16") else "_e64"
    got = run(assembler, probe, f"{name}{suffix} v6, v0, v2 clamp", sources, 32)
    assert got.tolist() == [reference(int(a), int(b)) for a, b in zip(sources[0][0], sources[1][0], strict=True)]


def elements(word: int, bits: int, is_signed: bool) -> list[int]:
    parts = [word >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(part, bits) for part in parts] if is_signed else parts


def dot(bits: int, is_signed: bool) -> Callable[[int, int, int], int]:
    def apply(a: int, b: int, c: int) -> int:
        products = zip(elements(a, bits, is_signed), elements(b, bits, is_signed), strict=True)
        return sum(x * y for x, y in products) + (signed(c, 32) if is_signed else c)

    return apply


def low(value: int, bits: int, is_signed: bool = False) -> int:
    return signed(value, bits) if is_signed else value & ((1 << bits) - 1)


def differences(a: int, b: int, bits: int, masked: bool = False) -> int:
    pairs = zip(elements(a, bits, False), elements(b, bits, False), strict=True)
    return sum(abs(x - y) for x, y in pairs if y or not masked)


# (mnemonic, widths of the operands, bits and sign of the result, the exact value)
EXACT_INTEGERS = [
    *(
        (f"v_dot{32 // n}_{'i32_i' if s else 'u32_u'}{n}", (32,) * 3, 32, s, dot(n, s))
        for n in (4, 8, 16)
        for s in (True, False)
    ),
    ("v_mul_u32_u24_e64", (32, 32), 32, False, lambda a, b: low(a, 24) * low(b, 24)),
    ("v_mul_i32_i24_e64", (32, 32), 32, True, lambda a, b: low(a, 24, True) * low(b, 24, True)),
    ("v_mad_u32_u24", (32,) * 3, 32, False, lambda a, b, c: low(a, 24) * low(b, 24) + c),
    ("v_mad_i32_i24", (32,) * 3, 32, True, lambda a, b, c: low(a, 24, True) * low(b, 24, True) + signed(c, 32)),
    ("v_mad_u32_u16", (16, 16, 32), 32, False, lambda a, b, c: low(a, 16) * low(b, 16) + c),
    ("v_mad_i32_i16", (16, 16, 32), 32, True, lambda a, b, c: low(a, 16, True) * low(b, 16, True) + signed(c, 32)),
    ("v_mad_legacy_u16", (16,) * 3, 16, False, lambda a, b, c: a * b + c),
    ("v_mad_legacy_i16", (16,) * 3, 16, True, lambda a, b, c: signed(a, 16) * signed(b, 16) + signed(c, 16)),
    ("v_sad_u8", (32,) * 3, 32, False, lambda a, b, c: differences(a, b, 8) + c),
    ("v_sad_hi_u8", (32,) * 3, 32, False, lambda a, b, c: (differences(a, b, 8) << 16) + c),
    ("v_sad_u16", (32,) * 3, 32, False, lambda a, b, c: differences(a, b, 16) + c),
    ("v_sad_u32", (32,) * 3, 32, False, lambda a, b, c: abs(a - b) + c),
    ("v_msad_u8", (32,) * 3, 32, False, lambda a, b, c: differences(a, b, 8, masked=True) + c),
]


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize(
    ("name", "widths", "bits", "is_signed", "exact_value"), EXACT_INTEGERS, ids=[row[0] for row in EXACT_INTEGERS]
)
def test_integers_wrap_or_are_held(assembler, probe, random, name, widths, bits, is_signed, exact_value, clamp):
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)

    def reference(*operands: int) -> int:
        value = exact_value(*operands)
        return (max(least, min(most, value)) if clamp else value) & ((1 << bits) - 1)

    check(assembler, probe, random, name, widths, 32, reference, modifiers=" clamp" if clamp else "")


@pytest.mark.parametrize(("name", "held"), [("v_dot4c_i32_i8", 8), ("v_dot8c_i32_i4", 4), ("v_dot2c_i32_i16", 16)])
def test_accumulating_dots_are_held_by_clamp(assembler, probe, random, name, held):
    a, b, c = (draw(random, WAVES * LANES, 32) for _ in range(3))
    got = run(assembler, probe, f"v_mov_b32 v6, v4\n{name}_e64 v6, v0, v2 clamp", [(x, 32) for x in (a, b, c)], 32)
    exact_value = dot(held, True)
    expected = [saturated(exact_value(*map(int, row)), -(2**31), 2**31 - 1, 2**32 - 1) for row in zip(a, b, c, strict=True)]
    assert got.tolist() == expected


@pytest.mark.parametrize(("name", "operation"), [("v_add_co_u32", lambda a, b: a + b), ("v_sub_co_u32", lambda a, b: a - b),
                                                 ("v_subrev_co_u32", lambda a, b: b - a)])  # fmt: skip
def test_sums_with_a_carry_out_are_held_by_clamp(assembler, probe, random, name, operation):
    a, b = (draw(random, WAVES * LANES, 32) for _ in range(2))
    got = run(assembler, probe, f"{name}_e64 v6, vcc, v0, v2 clamp", [(a, 32), (b, 32)], 32)
    assert got.tolist() == [saturated(operation(int(x), int(y)), 0, 2**32 - 1, 2**32 - 1) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("name", ["v_mad_u64_u32", "v_mad_i64_i32"])
def test_wide_sums_of_products_are_held_by_clamp(assembler, probe, random, name):
    is_signed = name == "v_mad_i64_i32"

    def reference(a: int, b: int, c: int) -> int:
        if not is_signed:
            return saturated(a * b + c, 0, 2**64 - 1, 2**64 - 1)
        return saturated(signed(a, 32) * signed(b, 32) + signed(c, 64), -(2**63), 2**63 - 1, 2**64 - 1)

    a, b, c = (draw(random, WAVES * LANES, width) for width in (32, 32, 64))
    got = run(assembler, probe, f"{name} v[6:7], vcc, v0, v2, v[4:5] clamp", [(a, 32), (b, 32), (c, 64)], 64)
    assert got.tolist() == [reference(*map(int, row)) for row in zip(a, b, c, strict=True)]


@pytest.mark.parametrize(("name", "width"), [("v_cvt_pknorm_i16_f32", 32), ("v_cvt_pknorm_i16_f16", 16)])
def test_normalised_integers_are_rounded_once(assembler, probe, name, width):
    """A single cannot hold -0.50048828125 * 32767 = -16399.4995: it would become -16399.5, and that would become -16400."""
    bits = np.full(WAVES * LANES, bits_of_float(-0.50048828125, width))
    got = run(assembler, probe, f"{name} v6, v0, v0", [(bits, width)], 32)
    assert set(got.tolist()) == {0xBFF1BFF1}  # -16399 twice
