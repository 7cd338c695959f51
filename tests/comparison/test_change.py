"""Intervals contain the true value as often as stated; limits mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocm_perf_lab.comparison.change import ratio_interval
from rocm_perf_lab.comparison.exact_change import exact_change
from rocm_perf_lab.comparison.limits import Limit
from rocm_perf_lab.errors import UsageError

REPETITIONS = 300


@pytest.mark.parametrize("runs", [1, 2, 3, 8])
def test_intervals_contain_the_true_ratio_as_often_as_stated(runs):
    """The true ratio is 1.25. The level is nine in ten; fewer than 85 % of 300 would be three standard deviations off."""
    random, held = np.random.default_rng(runs), 0
    for _ in range(REPETITIONS):
        spread = 0.03 if runs > 1 else 0  # between runs; a single run cannot show it
        base, new = (
            [mean * random.normal(1, spread or 1e-9) * random.lognormal(0, 0.2, 60) for _ in range(runs)] for mean in (4e3, 5e3)
        )
        interval = ratio_interval(base, new, 0.9)
        held += interval.low <= 1.25 <= interval.high
    assert 0.85 * REPETITIONS <= held <= 0.99 * REPETITIONS


@given(st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=20), min_size=1, max_size=4), st.floats(0.1, 10))
@settings(max_examples=30)
def test_an_interval_does_not_depend_on_the_unit_and_contains_the_observed_ratio(times, unit):
    base, new = [np.array(run, float) for run in times], [np.array(run[::-1], float) for run in times]
    one, other = ratio_interval(base, new), ratio_interval([unit * run for run in base], [unit * run for run in new])
    if isinstance(one, str):
        assert one == other
        return
    assert (other.low, other.high) == pytest.approx((one.low, one.high))
    assert one.low <= 1 + 1e-9 and one.high >= 1 - 1e-9  # the totals are equal


NUMBERS = st.integers(0, 10**6)


@given(NUMBERS, NUMBERS, st.integers(-500, 500), st.sampled_from("<>"), st.booleans())
def test_a_limit_follows_its_arithmetic(base, new, bound, sign, percent):
    limit = Limit.of(f"lds {sign} {bound}{'%' if percent else ''}")
    if percent:  # in whole numbers: (new - base) / base ? bound / 100
        left, right = 100 * (new - base), bound * base
        beyond = left > right if sign == ">" else left < right
        if base == 0:
            beyond = new > 0 and sign == ">" or new == 0 and (bound < 0 if sign == ">" else bound > 0)
    else:
        beyond = new - base > bound if sign == ">" else new - base < bound
    assert limit.exceeds(exact_change("lds", "bytes", base, new)) == beyond


@pytest.mark.parametrize(
    "text", ["", "time", "time>", "time>x", "time=2%", "time>2%%", ">2%", "time>2kg", "tme>1", "time>1e400x"]
)
def test_other_words_are_refused(text):
    with pytest.raises(UsageError):
        Limit.of(text)


@pytest.mark.parametrize(("text", "bound"), [("time>1us", 1e3), ("span>2ms", 2e6), ("lds>4KiB", 4096), ("time > 2 %", 0.02)])
def test_units(text, bound):
    assert Limit.of(text).bound == pytest.approx(bound)
