"""Conversions from and to the 8-bit floats, compared with exact arithmetic on the list of all their values."""

from __future__ import annotations

from wave import DEFAULT_MODE, LANES, Batch

import numpy as np
import pytest

FORMATS = {"fp8": (3, 8), "bf8": (2, 16)}  # mantissa bits, exponent bias
OVERFLOW_SATURATES = 1 << 23
NAN, DEFAULT_NAN = 0x80, 0x7FC00000


def values_of(kind: str) -> np.ndarray:
    """The values of the bytes 0 to 127, ascending."""
    mantissa, bias = FORMATS[kind]
    byte = np.arange(128)
    exponent, fraction = byte >> mantissa, (byte & ((1 << mantissa) - 1)) / (1 << mantissa)
    return np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))


def signed(magnitude: np.ndarray, negative: np.ndarray, finite: np.ndarray, saturates: bool) -> np.ndarray:
    """Bytes from indices into values_of; 128 and above overflow."""
    byte = np.where(magnitude > 127, 127 if saturates else NAN, magnitude)
    byte = np.where(negative & (byte != 0) & (byte != NAN), byte | 0x80, byte)
    return np.where(finite, byte, NAN)


def nearest(kind: str, numbers: np.ndarray, saturates: bool) -> np.ndarray:
    """A number's neighbours and their middle are exact in double precision."""
    values = values_of(kind)
    grid = np.append(values, 2 * values[127] - values[126])  # the value that would come next, to decide what overflows
    size = np.minimum(np.abs(np.where(np.isfinite(numbers), numbers, 0).astype(np.float64)), grid[-1])
    below = np.clip(np.searchsorted(grid, size, "right") - 1, 0, 127)
    middle = (grid[below] + grid[below + 1]) / 2
    up = (size > middle) | ((size == middle) & (below % 2 == 1))
    return signed(below + up, np.signbit(numbers), np.isfinite(numbers), saturates)


def stochastic(kind: str, numbers: np.ndarray, random: np.ndarray, saturates: bool) -> np.ndarray:
    """Rounds up with a probability given by the remainder: one random bit for each mantissa bit that the result lacks."""
    bits = 23 - FORMATS[kind][0]
    values = values_of(kind)
    grid = np.append(values, 2 * values[127] - values[126])
    size = np.minimum(np.abs(np.where(np.isfinite(numbers), numbers, 0).astype(np.float64)), grid[-1])
    below = np.clip(np.searchsorted(grid, size, "right") - 1, 0, 127)
    rest = np.floor((size - grid[below]) / (grid[below + 1] - grid[below]) * 2.0**bits)
    up = rest + (random >> (32 - bits)) >= 2.0**bits
    return signed(below + up, np.signbit(numbers), np.isfinite(numbers), saturates)


def run(assembler, probe, lines: list[str], sources: list[np.ndarray], mode: int = DEFAULT_MODE) -> np.ndarray:
    """v4 after each line, as [line, element]; the sources are v0, v1 and the former content of v4."""
    code = assembler.assemble(lines)
    waves = sources[0].size // LANES
    batch = Batch(code, waves * len(lines), vgprs=5)
    batch.input["mode"] = mode
    batch.input["entry"] = np.repeat(code.entry, waves)
    for register, source in zip((0, 1, 4), sources, strict=False):
        batch.input["vgpr"][:, register] = np.tile(source.astype(np.uint32).reshape(waves, LANES), (len(lines), 1))
    after = batch.run(probe)
    assert not after["faulted"].any(), after["fault"][0]
    return after["vgpr"][:, 4].reshape(len(lines), -1)


def every_upper_half() -> np.ndarray:
    """Every combination of sign, exponent and upper seven mantissa bits, just below, at and above the rounding boundaries."""
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    return np.concatenate([upper | np.uint32(low) for low in (0, 1, 0x7FFF, 0x8000, 0xFFFF)])


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
def test_rounding_to_nearest_is_exact_for_every_upper_half(assembler, probe, random, kind: str, saturates: bool) -> None:
    bits = every_upper_half()
    other = random.permutation(bits)
    old = random.integers(0, 2**32, bits.size, np.uint32)
    mode = DEFAULT_MODE | (OVERFLOW_SATURATES if saturates else 0)
    lines = [f"v_cvt_pk_{kind}_f32 v4, v0, v1", f"v_cvt_pk_{kind}_f32 v4, -v0, |v1| op_sel:[0,0,1]"]
    low, high = run(assembler, probe, lines, [bits, other, old], mode)
    a, b = (x.view(np.float32) for x in (bits, other))
    pair = nearest(kind, a, saturates) | nearest(kind, b, saturates) << 8
    np.testing.assert_array_equal(low, old & 0xFFFF0000 | pair)
    pair = nearest(kind, -a, saturates) | nearest(kind, np.abs(b), saturates) << 8
    np.testing.assert_array_equal(high, old & 0xFFFF | pair << 16)


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
def test_stochastic_rounding_follows_its_random_bits(assembler, probe, random, kind: str, saturates: bool) -> None:
    bits = np.concatenate([every_upper_half(), random.integers(0x3B000000, 0x47800000, 1 << 16, np.uint32)])
    seeds, old = (random.integers(0, 2**32, bits.size, np.uint32) for _ in range(2))
    mode = DEFAULT_MODE | (OVERFLOW_SATURATES if saturates else 0)
    lines = [f"v_cvt_sr_{kind}_f32 v4, v0, v1 op_sel:[0,0,{byte & 1},{byte >> 1}]" for byte in range(4)]
    expected = stochastic(kind, bits.view(np.float32), seeds, saturates)
    for byte, got in enumerate(run(assembler, probe, lines, [bits, seeds, old], mode)):
        np.testing.assert_array_equal(got, old & ~np.uint32(0xFF << 8 * byte) | (expected << 8 * byte).astype(np.uint32))


def widened(kind: str, byte: np.ndarray) -> np.ndarray:
    value = values_of(kind)[byte & 0x7F] * np.where(byte & 0x80, -1, 1)
    return np.where(byte == NAN, DEFAULT_NAN, value.astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("kind", FORMATS)
def test_widening_every_byte_of_every_place(assembler, probe, kind: str) -> None:
    byte = np.arange(256, dtype=np.uint32)
    words = byte | byte[::-1] << 8 | (byte ^ 0x55) << 16 | (byte ^ 0xAA) << 24
    places = {"": 0, "BYTE_0": 0, "BYTE_1": 1, "BYTE_2": 2, "BYTE_3": 3, "DWORD": 0, "WORD_1": 0}
    lines = [f"v_cvt_f32_{kind}_sdwa v4, v0 src0_sel:{p}" if p else f"v_cvt_f32_{kind}_e64 v4, v0" for p in places]
    for place, got in zip(places.values(), run(assembler, probe, lines, [words]), strict=True):
        np.testing.assert_array_equal(got, widened(kind, words >> 8 * place & 0xFF))


@pytest.mark.parametrize("kind", FORMATS)
def test_widening_pairs(assembler, probe, kind: str) -> None:
    byte = np.arange(256, dtype=np.uint32)
    words = byte | byte[::-1] << 8 | (byte ^ 0x55) << 16 | (byte ^ 0xAA) << 24
    for form, shift in (("_e32 {}, v0", 0), ("_sdwa {}, v0 src0_sel:WORD_1", 16), ("_sdwa {}, v0 src0_sel:WORD_0", 0)):
        name = f"v_cvt_pk_f32_{kind}{form}"
        lines = [f"{name.format('v[2:3]')}\nv_mov_b32 v4, v{register}" for register in (2, 3)]
        low, high = run(assembler, probe, lines, [words])
        np.testing.assert_array_equal(low, widened(kind, words >> shift & 0xFF))
        np.testing.assert_array_equal(high, widened(kind, words >> (shift + 8) & 0xFF))


def test_clamp_holds_a_widened_number_between_zero_and_one(assembler, probe) -> None:
    byte = np.arange(256, dtype=np.uint32)
    (got,) = run(assembler, probe, ["v_cvt_f32_fp8_e64 v4, v0 clamp"], [byte])
    expected = np.clip(np.nan_to_num(widened("fp8", byte).view(np.float32)), 0, 1)
    np.testing.assert_array_equal(got.view(np.float32), expected)
