"""Distances between numbers, against NumPy's own steps from one to the next."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.gate.numbers import bits_of, dtype_of, in_words, is_float, ulps_between
from rocm_perf_lab.hip_source.layout import BYTES

FLOATS = sorted(scalar for scalar in BYTES if is_float(scalar))


def number(scalar: str, bits: int) -> np.ndarray:
    """One number of those bits, shape (1,)."""
    size = BYTES[scalar]
    return np.frombuffer((bits % (1 << 8 * size)).to_bytes(size, "little"), dtype_of(scalar))


def stepped(value: np.ndarray, steps: int) -> np.ndarray:
    """That many representable numbers up; zero counts once."""
    up = np.array([float(ml_dtypes.finfo(value.dtype).max)]).astype(value.dtype)
    for _ in range(steps):
        value = np.nextafter(value, up)
    return value


@pytest.mark.parametrize("scalar", FLOATS)
@settings(deadline=None, max_examples=60)
@given(bits=st.integers(0, (1 << 64) - 1), steps=st.integers(0, 12))
def test_as_many_steps_as_nextafter_takes(scalar, bits, steps):
    one = number(scalar, bits)
    assume(np.isfinite(one).all())
    other = stepped(one, steps)
    assume(np.isfinite(other).all() and not (steps and (bits_of(stepped(one, steps - 1)) == bits_of(other)).all()))
    assert ulps_between(one, other)[0] == ulps_between(other, one)[0] == steps


@pytest.mark.parametrize("scalar", [scalar for scalar in FLOATS if BYTES[scalar] <= 2])
def test_neighbours_are_one_apart_all_through(scalar):
    """Of every number of the format, in order of value: the whole scale without a gap."""
    every = np.arange(1 << 8 * BYTES[scalar]).astype(f"u{BYTES[scalar]}").view(dtype_of(scalar))
    values = np.unique(every[np.isfinite(every)].astype(np.float64)).astype(dtype_of(scalar))
    assert (ulps_between(values[:-1], values[1:]) == 1).all()


@pytest.mark.parametrize("scalar", FLOATS)
@settings(deadline=None, max_examples=60)
@given(bits=st.integers(0, (1 << 64) - 1))
def test_words_are_the_number_itself(scalar, bits):
    one = number(scalar, bits)
    assume(np.isfinite(one).all())
    assert (np.array([float(in_words(one[0]))]).astype(one.dtype) == one).all()
