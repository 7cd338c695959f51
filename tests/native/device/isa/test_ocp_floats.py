"""Conversions of gfx950 from and to the 8-bit floats of the OCP, compared with exact arithmetic on the list of their values."""

from __future__ import annotations

from wave import DEFAULT_MODE, LANES, Batch

import numpy as np
import pytest
from test_matrix import OCP_VALUES

KINDS = {"fp8": "e4m3", "bf8": "e5m2"}
MAX_FINITE = {"fp8": 0x7E, "bf8": 0x7B}
BEYOND = {"fp8": 0x7F, "bf8": 0x7C}  # NaN, infinity
OVERFLOW_SATURATES = 1 << 23
MANTISSA = {"fp8": 3, "bf8": 2}


def run(assembler, probe, line: str, sources: list[np.ndarray], mode: int = DEFAULT_MODE) -> np.ndarray:
    """v4 after the line; the sources are v0, v1 and the former content of v4."""
    code = assembler.assemble([line])
    waves = sources[0].size // LANES
    batch = Batch(code, waves, vgprs=6)
    batch.input["mode"], batch.input["entry"] = mode, code.entry[0]
    for register, source in zip((0, 1, 4), sources, strict=False):
        batch.input["vgpr"][:, register] = source.astype(np.uint32).reshape(waves, LANES)
    after = batch.run(probe, target="gfx950")
    assert not after["faulted"].any(), after["fault"][0]
    return after["vgpr"][:, 4].ravel()


def nearest(kind: str, numbers: np.ndarray, saturates: bool) -> np.ndarray:
    """Bytes rounded to nearest even, on a grid whose last point is the first number that overflows."""
    values = np.array(OCP_VALUES[KINDS[kind]])[: MAX_FINITE[kind] + 1]
    grid = np.append(values, 2 * values[-1] - values[-2])
    finite = np.isfinite(numbers)
    size = np.minimum(np.abs(np.where(finite, numbers, 0).astype(np.float64)), grid[-1])
    below = np.clip(np.searchsorted(grid, size, "right") - 1, 0, MAX_FINITE[kind])
    middle = (grid[below] + grid[below + 1]) / 2
    byte = below + ((size > middle) | ((size == middle) & (below % 2 == 1)))
    byte = np.where(byte > MAX_FINITE[kind], MAX_FINITE[kind] if saturates else BEYOND[kind], byte)
    return np.where(finite, byte, BEYOND[kind]) | np.signbit(numbers) * 0x80


def every_upper_half() -> np.ndarray:
    """All signs, exponents and upper bits of the mantissa, just below, at and above the boundaries of rounding."""
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    bits = np.concatenate([upper | np.uint32(low) for low in (0, 1, 0x8000, 0xFFFF)])
    return bits[~np.isnan(bits.view(np.float32))][: bits.size // LANES * LANES // 2 * 2 - 4096]


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_to_nearest(newer_assembler, probe, random, kind, saturates):
    bits = every_upper_half()
    bits = random.permutation(bits)[: bits.size // LANES * LANES]
    other = random.permutation(bits)
    mode = DEFAULT_MODE | (OVERFLOW_SATURATES if saturates else 0)
    got = run(newer_assembler, probe, f"v_cvt_pk_{kind}_f32 v4, v0, v1", [bits, other], mode)
    for part, of in ((got & 0xFF, bits), (got >> 8 & 0xFF, other)):
        np.testing.assert_array_equal(part, nearest(kind, of.view(np.float32), saturates))


@pytest.mark.parametrize("kind", KINDS)
def test_a_nan_is_converted_to_a_nan(newer_assembler, probe, kind):
    got = run(newer_assembler, probe, f"v_cvt_pk_{kind}_f32 v4, v0, v0", [np.full(LANES, 0x7FC00001)])
    assert np.isnan(np.array(OCP_VALUES[KINDS[kind]])[got & 0xFF]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_is_widened(newer_assembler, probe, kind):
    byte = np.arange(256)
    expected = np.array(OCP_VALUES[KINDS[kind]])
    for line in (f"v_cvt_f32_{kind} v4, v0", f"v_cvt_pk_f32_{kind} v[4:5], v0"):
        got = run(newer_assembler, probe, line, [byte]).view(np.float32)
        np.testing.assert_array_equal(got, expected)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("kind", KINDS)
def test_stochastic_rounding_goes_up_as_often_as_the_remainder_says(newer_assembler, probe, random, kind):
    """One random bit for each bit of the mantissa that the result lacks, the upper ones, as on gfx942."""
    values = np.array(OCP_VALUES[KINDS[kind]])[: MAX_FINITE[kind] + 1]
    below = random.integers(0, MAX_FINITE[kind], 64 * LANES)
    step = values[below + 1] - values[below]
    numbers = (values[below] + step * random.integers(0, 2**12, below.size) / 2**12).astype(np.float32)
    draws = random.integers(0, 2**32, below.size, np.uint32)
    dropped = 23 - MANTISSA[kind]
    rest = np.floor((numbers - values[below]) / step * 2.0**dropped)
    expected = below + (rest + (draws >> np.uint32(32 - dropped)) >= 2.0**dropped)
    got = run(newer_assembler, probe, f"v_cvt_sr_{kind}_f32 v4, v0, v1", [numbers.view(np.uint32), draws])
    np.testing.assert_array_equal(got & 0xFF, expected)
