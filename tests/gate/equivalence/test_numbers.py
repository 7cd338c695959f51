"""Distances between numbers, against NumPy's own steps from one to the next."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.gate.equivalence.numbers import bits_of, dtype_of, float_type, in_words, is_float, nan_of, ulps_between
from rocm_perf_lab.hip_source.layout import BYTES

FLOATS = sorted(scalar for scalar in BYTES if is_float(scalar))


def number(scalar: str, bits: int) -> np.ndarray:
    """One number with those bits, in an array of shape (1,)."""
    size = BYTES[scalar]
    return np.frombuffer((bits % (1 << 8 * size)).to_bytes(size, "little"), dtype_of(scalar))


def stepped(value: np.ndarray, steps: int) -> np.ndarray:
    """The number that is that many representable numbers higher; zero counts once."""
    up = np.array([float(ml_dtypes.finfo(value.dtype).max)]).astype(value.dtype)
    for _ in range(steps):
        value = np.nextafter(value, up)
    return value


@pytest.mark.parametrize("scalar", FLOATS)
@settings(deadline=None, max_examples=60)
@given(bits=st.integers(0, (1 << 64) - 1), steps=st.integers(0, 12))
def test_distances_are_the_number_of_nextafter_steps(scalar, bits, steps):
    one = number(scalar, bits)
    assume(np.isfinite(one).all())
    other = stepped(one, steps)
    assume(np.isfinite(other).all() and not (steps and (bits_of(stepped(one, steps - 1)) == bits_of(other)).all()))
    assert ulps_between(one, other)[0] == ulps_between(other, one)[0] == steps


@pytest.mark.parametrize("scalar", [scalar for scalar in FLOATS if BYTES[scalar] <= 2])
def test_all_neighbours_are_one_apart(scalar):
    """Every number of the format, in order of value: the whole scale without a gap."""
    every = np.arange(1 << 8 * BYTES[scalar]).astype(f"u{BYTES[scalar]}").view(dtype_of(scalar))
    values = np.unique(every[np.isfinite(every)].astype(np.float64)).astype(dtype_of(scalar))
    assert (ulps_between(values[:-1], values[1:]) == 1).all()


@pytest.mark.parametrize("scalar", FLOATS)
@settings(deadline=None, max_examples=60)
@given(bits=st.integers(0, (1 << 64) - 1))
def test_printed_numbers_read_back_exactly(scalar, bits):
    one = number(scalar, bits)
    assume(np.isfinite(one).all())
    assert (np.array([float(in_words(one[0]))]).astype(one.dtype) == one).all()


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("signalling", [False, True])
@pytest.mark.parametrize("scalar", FLOATS)
def test_nans_of_every_sign_and_kind_and_payload(scalar, signalling, negative):
    dtype, random = dtype_of(scalar), np.random.default_rng(5)
    every = [nan_of(dtype, negative, signalling, random) for _ in range(8)]
    if every[0] is None:
        assert not np.isnan(np.arange(256, dtype=np.uint8).view(dtype)).any()
        return
    assert all(np.isnan(one).all() for one in every)
    if scalar in ("float16", "bfloat16", "float32", "float64"):
        bits, fraction = [int(bits_of(one)[0]) for one in every], ml_dtypes.finfo(dtype).nmant
        assert len(set(bits)) > 1
        assert {bool(one >> 8 * dtype.itemsize - 1) for one in bits} == {negative}
        assert {bool(one >> fraction - 1 & 1) for one in bits} == {not signalling}


def test_a_number_is_told_in_the_fewest_digits_of_its_type():
    assert [in_words(one) for one in (np.float32(0.1), np.float64(0.1), np.int8(-5), np.uint64(7))] == ["0.1", "0.1", "-5", "7"]


@pytest.mark.parametrize(
    "kind, floating",
    [("float32", True), ("bfloat16", True), ("int32", False), ("bool", False), ("no type", False)],
)
def test_kinds_of_numbers(kind, floating):
    assert (float_type(kind) is not None) == floating == is_float(kind) and not is_float(None)
