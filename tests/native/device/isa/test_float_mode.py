"""MODE in cases that the pseudo-code leaves open: mixed precision, division steps, fractions, the LDS's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from wave import DEFAULT_MODE, LANES, Batch

import numpy as np
import pytest
from float_mode import FloatMode, is_infinite
from operands import draw
from pseudocode_values import Rounding, Value, bits_of_float, bits_of_fraction, float_of, fused_multiply_add, is_nan, rounded
from vector_oracle import random_modes

WAVES = 24
BELOW_ONE = {16: 0x3BFF, 32: 0x3F7FFFFF, 64: 0x3FEFFFFFFFFFFFFF}


def run(assembler, probe, random, line: str, sources: list[tuple[np.ndarray, int]], lds: np.ndarray | None = None):
    """Runs on [WAVES * 64] operands (bits, width) in v0, v2, v4. Returns the lanes' modes, v6, v7 (and the LDS's words)."""
    batch = Batch(assembler.assemble([line]), WAVES, lds=0 if lds is None else lds.shape[1] * 4)
    batch.input["mode"] = random_modes(random, WAVES)
    for i, (bits, width) in enumerate(sources):
        bits = bits.astype(np.uint64).reshape(WAVES, LANES)
        batch.input["vgpr"][:, 2 * i] = bits & np.uint64(0xFFFFFFFF)
        if width == 64:
            batch.input["vgpr"][:, 2 * i + 1] = bits >> np.uint64(32)
    if lds is not None:
        batch.input["lds"] = lds.view("u1").reshape(WAVES, -1)
    after = batch.run(probe)
    assert not after["faulted"].any(), after["fault"][0].decode()
    low, high = (after["vgpr"][:, register].reshape(-1).astype(np.uint64) for register in (6, 7))
    return np.repeat(batch.input["mode"], LANES).tolist(), (low | high << np.uint64(32)).tolist(), after


def check(assembler, probe, random, line: str, widths: tuple[int, ...], result: int, reference: Callable[..., int]) -> None:
    """`reference` takes the mode and the operands' bits."""
    sources = [(draw(random, WAVES * LANES, width), width) for width in widths]
    modes, got, _ = run(assembler, probe, random, line, sources)
    operands = [bits.tolist() for bits, _ in sources]
    for i, (mode, value) in enumerate(zip(modes, got, strict=True)):
        arguments = [bits[i] for bits in operands]
        expected = reference(FloatMode(mode), *arguments)
        value &= (1 << result) - 1
        both_nan = is_nan(expected, result) and is_nan(value, result)
        assert value == expected or both_nan, (line, hex(mode), list(map(hex, arguments)), hex(value), hex(expected))


def fused(mode: FloatMode, rounding: Rounding, size: int, *operands: int) -> int:
    with rounded(rounding):
        return fused_multiply_add(*(Value("F", size, mode.operand(bits, size)) for bits in operands)).bits


def single_of_half(mode: FloatMode, bits: int) -> int:
    bits = mode.operand(bits & 0xFFFF, 16)
    if is_nan(bits, 16):
        return (bits & 0x8000) << 16 | 0x7FC00000 | (bits & 0x3FF) << 13
    return bits_of_float(float_of(bits, 16), 32)


def half_of_single(mode: FloatMode, bits: int, rounding: Rounding) -> int:
    if is_nan(bits, 32):
        return 0x7E00
    with rounded(rounding):
        return mode.result(bits_of_float(float_of(bits, 32), 16), 16, is_infinite(bits, 32))


def mixed(mode: FloatMode, a: int, b: int, c: int) -> int:
    """The first source a single, the second a half, the third the upper half of a register."""
    b, c = single_of_half(mode, b), single_of_half(mode, c >> 16)
    with rounded(mode.rounding([32])):
        values = (Value("F", 32, bits) for bits in (mode.operand(a, 32), b, c))
        return mode.result(fused_multiply_add(*values).bits, 32)


MIX = "v0, v2, v4 op_sel:[0,0,1] op_sel_hi:[0,1,1]"


def test_mixed_precision(assembler, probe, random):
    check(assembler, probe, random, f"v_fma_mix_f32 v6, {MIX}", (32, 32, 32), 32, mixed)


def test_mixed_precision_to_a_half(assembler, probe, random):
    def reference(mode: FloatMode, *operands: int) -> int:
        return half_of_single(mode, mixed(mode, *operands), mode.rounding([16]))

    check(assembler, probe, random, f"v_fma_mixlo_f16 v6, {MIX}", (32, 32, 32), 16, reference)


def test_pairs_round_toward_zero_in_every_mode(assembler, probe, random):
    def reference(mode: FloatMode, a: int, b: int) -> int:
        halves = [half_of_single(mode, mode.operand(bits, 32), Rounding.ZERO) for bits in (a, b)]
        return halves[0] | halves[1] << 16

    def without_nan(mode: FloatMode, a: int, b: int) -> int:
        return 0xFFFFFFFF if is_nan(a, 32) or is_nan(b, 32) else reference(mode, a, b)

    sources = [(bits & np.uint64(0xFF7FFFFF), 32) for bits in (draw(random, WAVES * LANES, 32) for _ in range(2))]  # not a NaN
    modes, got, _ = run(assembler, probe, random, "v_cvt_pkrtz_f16_f32 v6, v0, v2", sources)
    for i, (mode, value) in enumerate(zip(modes, got, strict=True)):
        a, b = (int(bits[i]) for bits, _ in sources)
        assert value & 0xFFFFFFFF == without_nan(FloatMode(mode), a, b), (hex(mode), hex(a), hex(b))


def register(first: int, width: int) -> str:
    return f"v[{first}:{first + 1}]" if width == 64 else f"v{first}"


@pytest.mark.parametrize("size", [16, 32, 64])
def test_rounding_to_even_in_every_mode(assembler, probe, random, size):
    def reference(mode: FloatMode, bits: int) -> int:
        bits = mode.operand(bits & (1 << size) - 1, size)
        number = float_of(bits, size)
        if not math.isfinite(number):
            return bits
        return mode.result(bits_of_float(math.copysign(float(round(number)), number), size), size)

    line = f"v_rndne_f{size} {register(6, size)}, {register(0, size)}"
    check(assembler, probe, random, line, (size,), size, reference)


@pytest.mark.parametrize("size", [16, 32, 64])
def test_fractions(assembler, probe, random, size):
    def reference(mode: FloatMode, bits: int) -> int:
        bits = mode.operand(bits & (1 << size) - 1, size)
        number = float_of(bits, size)
        if not math.isfinite(number):
            return bits if number != number else BELOW_ONE[size] | 0x7FFF << size - 16
        with rounded(how := mode.rounding([size])):
            exact = Fraction(number) - math.floor(number)
            negative_zero = how == Rounding.DOWN  # x - x
            return mode.result(
                min(bits_of_fraction(exact, size), BELOW_ONE[size]) | negative_zero * (exact == 0) << size - 1, size
            )

    line = f"v_fract_f{size} {register(6, size)}, {register(0, size)}"
    check(assembler, probe, random, line, (size,), size, reference)


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_last_step_of_a_division(assembler, probe, random, size, scaled):
    """v_div_fmas: if vcc is set, the result is scaled back, and rounded once."""
    by, bias = {32: (64, 127), 64: (128, 1023)}[size]

    def reference(mode: FloatMode, *operands: int) -> int:
        bits = [mode.operand(b, size) for b in operands]
        numbers = [float_of(b, size) for b in bits]
        how = mode.rounding([size])
        if not scaled or not all(map(math.isfinite, numbers)):
            return mode.result(fused(mode, how, size, *operands), size)
        exponent = bits[2] >> {32: 23, 64: 52}[size] & 2 * bias + 1
        exact = Fraction(numbers[0]) * Fraction(numbers[1]) + Fraction(numbers[2])
        if exact == 0:  # its sign is that of the sum
            return mode.result(fused(mode, how, size, *operands), size)
        with rounded(how):
            return mode.result(bits_of_fraction(exact * Fraction(2) ** (by if exponent > bias else -by), size), size)

    operands = ", ".join(register(first, size) for first in (6, 0, 2, 4))
    line = f"s_mov_b64 vcc, {-1 if scaled else 0}\nv_div_fmas_f{size} {operands}"
    check(assembler, probe, random, line, (size,) * 3, size, reference)


@pytest.mark.parametrize("operation", ["add", "min", "max"])
@pytest.mark.parametrize("size", [32, 64])
def test_atomics_of_the_lds_flush_denormals_and_round_to_nearest(assembler, probe, random, operation, size):
    """With ordinary numbers and denormals: the result for NaN is not documented."""
    count = WAVES * LANES
    numbers = [draw(random, count, size) & np.uint64((1 << size - 1) - 1) for _ in range(2)]
    tiny = random.random((2, count)) < 0.5
    top = {32: 0x7F800000, 64: 0x7FF << 52}[size]
    fraction = {32: 0x807FFFFF, 64: 0x800FFFFFFFFFFFFF}[size]
    old, new = (
        np.where(t | ((n & np.uint64(top)) == top), n & np.uint64(fraction), n) for t, n in zip(tiny, numbers, strict=True)
    )
    words = old.view("<u4").reshape(WAVES, LANES, 2)[:, :, : size // 32].reshape(WAVES, -1).copy()
    line = f"v_mbcnt_lo_u32_b32 v5, -1, 0\nv_mbcnt_hi_u32_b32 v5, -1, v5\nv_lshlrev_b32 v5, {size // 32 + 1}, v5\n"
    line += f"ds_{operation}_rtn_f{size} {register(6, size)}, v5, {register(0, size)}"
    modes, got, after = run(assembler, probe, random, line, [(new, size)], words)
    memory = after["lds"].copy().view(f"<u{size // 8}").reshape(-1).tolist()
    for i, mode_bits in enumerate(modes):
        mode = FloatMode(mode_bits)
        before, data = (mode.operand(int(bits[i]), size) for bits in (old, new))
        a, b = float_of(before, size), float_of(data, size)
        if operation == "add":
            exact = Fraction(a) + Fraction(b)
            result = bits_of_fraction(exact, size, before >> size - 1 & data >> size - 1 & 1)
        else:
            result = before if (a < b) == (operation == "min") and a != b else data
        assert got[i] & (1 << size) - 1 == int(old[i])
        assert memory[i] == mode.result(result, size) or a == b == 0, (operation, hex(mode_bits), hex(before), hex(data))


def test_the_mode_at_kernel_start():
    assert FloatMode(DEFAULT_MODE).is_usual and not FloatMode(DEFAULT_MODE & ~0x30).is_usual
