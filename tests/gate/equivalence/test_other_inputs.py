"""What the gate puts in place of captured inputs: each kind does what its name says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocm_perf_lab.gate.equivalence.perturbation import FLOATS, INTEGERS

FLOAT_TYPES = (np.float16, np.float32, np.float64)
CAPTURED = np.linspace(2.0, 3.0, 4000)  # neither zero nor very small nor very large
seeds = st.integers(0, 1 << 32)


def made(kind: str, seed: int, kinds=FLOATS, captured=CAPTURED, dtype=np.float32):
    values = captured.astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        return values, np.asarray(kinds[kind](values, np.random.default_rng(seed))).astype(dtype)


@settings(max_examples=20)
@given(seed=seeds, dtype=st.sampled_from(FLOAT_TYPES))
def test_special_floats_occur_among_ordinary_ones(seed, dtype):
    limits = np.finfo(dtype)
    specials = {
        "zeros": (0.5, lambda v: v == 0),
        "denormals": (0.3, lambda v: (v != 0) & (np.abs(v) < limits.smallest_normal)),
        "huge": (0.1, lambda v: np.abs(v) > limits.max / 4),
        "NaN and infinity": (0.05, lambda v: ~np.isfinite(v)),
    }
    for kind, (share, is_special) in specials.items():
        values, found = made(kind, seed, dtype=dtype)
        special = is_special(found)
        assert abs(special.mean() - share) < 0.05 and special.any(), kind
        assert {np.signbit(one) for one in found[special & ~np.isnan(found)].tolist()} == {False, True}, kind
        rest = found[~special]
        assert rest.min() >= values.min() and rest.max() <= values.max() and len(np.unique(rest)) > 100, kind
    _, nans = made("NaN and infinity", seed, dtype=dtype)
    assert np.isnan(nans).any() and np.isinf(nans).any()


@settings(max_examples=20)
@given(seed=seeds, dtype=st.sampled_from(FLOAT_TYPES))
def test_floats_as_ordinary_as_the_captured_ones(seed, dtype):
    values, shuffled = made("shuffled", seed, dtype=dtype)
    assert not np.array_equal(shuffled, values) and np.array_equal(np.sort(shuffled), values)
    _, drawn = made("observed range", seed, dtype=dtype)
    assert drawn.min() >= values.min() and drawn.max() <= values.max() and abs(float(drawn.astype(float).mean()) - 2.5) < 0.05
    _, zeros = made("nothing but zeros", seed, dtype=dtype)
    assert not zeros.any() and 0.4 < np.signbit(zeros).mean() < 0.6


@settings(max_examples=20)
@given(seed=seeds, dtype=st.sampled_from(FLOAT_TYPES))
def test_floats_of_other_magnitudes(seed, dtype):
    limits = np.finfo(dtype)
    values, found = made("some beyond the observed range", seed, dtype=dtype)
    beyond = (np.abs(found) < values.min()) | (np.abs(found) > values.max())
    assert 0 < beyond.mean() < 0.08 and np.abs(found.astype(float)).max() <= min(3.001 * 2**14, float(limits.max))
    _, found = made("every magnitude", seed, dtype=dtype)
    exponents = np.log2(np.abs(found.astype(np.float64)))
    spread = float(np.log2(float(limits.max))) - float(np.log2(float(limits.smallest_normal)))
    assert np.isfinite(found).all() and np.ptp(exponents) > 0.95 * spread and 0.4 < np.signbit(found).mean() < 0.6


@pytest.mark.parametrize("captured, low, high", [([0, 0], 0, 1), ([7, 7], 0, 7), ([-7, -7], -7, 0), ([3, 9], 3, 9)])
def test_integers_within_the_range(captured, low, high):
    """If only one value occurred, other sizes down to zero are equally possible."""
    _, found = made("integers in the observed range", 1, INTEGERS, np.array(captured * 500), np.int32)
    assert set(found.tolist()) == set(range(low, high + 1))


@pytest.mark.parametrize(
    "dtype, captured, more", [(np.int32, [3, 9], {2, 10}), (np.uint8, [0, 255], set()), (np.uint8, [0, 9], {10})]
)
def test_integers_just_beyond_the_range(dtype, captured, more):
    _, found = made("integers just beyond the observed range", 1, INTEGERS, np.array(captured * 500), dtype)
    outside = found[(found < captured[0]) | (found > captured[1])]
    assert set(outside.tolist()) == more and len(outside) < 0.1 * len(found)


@pytest.mark.parametrize("kinds, noun, dtype", [(FLOATS, "number", np.float32), (INTEGERS, "integer", np.uint8)])
def test_one_value_everywhere(kinds, noun, dtype):
    found = {made(f"one {noun} everywhere", seed, kinds, np.arange(4), dtype)[1].tobytes() for seed in range(40)}
    assert found == {np.full(4, value, dtype).tobytes() for value in range(4)}


def test_zeros_occur_together_with_infinities_and_nans():
    """With two buffers of such values, their products are NaNs."""
    (_, one), (_, other) = (made("zeros beside NaN and infinity", seed, FLOATS, np.arange(1, 4000)) for seed in (1, 2))
    with np.errstate(invalid="ignore"):
        products = np.isnan(one * other) & ~np.isnan(one) & ~np.isnan(other)
    assert products.sum() > 40 and np.isfinite(one).mean() > 0.5


@pytest.mark.parametrize("kinds, noun", [(FLOATS, "numbers"), (INTEGERS, "integers")])
def test_a_few_places_change_and_everything_else_stays(kinds, noun):
    captured = np.arange(4096)
    shares = {"one": (1, 1), "a few": (20, 200), "an eighth": (400, 620)}
    for share, (least, most) in shares.items():
        values, found = made(
            f"{share} of the {noun} changed", 3, kinds, captured, np.float32 if noun == "numbers" else np.int32
        )
        assert least <= np.count_nonzero(found != values) <= most, share
