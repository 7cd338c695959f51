"""Shapley values against their definition, and sampled ones against exact ones."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis.shapley import sampled_shapley, shapley

subset_times = st.integers(0, 4).flatmap(lambda n: st.lists(st.integers(0, 10**9), min_size=1 << n, max_size=1 << n))


@given(subset_times)
def test_parts_are_the_mean_over_all_orders_and_sum_to_the_total_cost(times):
    n = len(times).bit_length() - 1
    gains = [Fraction(0)] * n
    orders = list(itertools.permutations(range(n)))
    for order in orders:
        taken = 0
        for i in order:
            gains[i] += times[taken] - times[taken | 1 << i]
            taken |= 1 << i
    assert shapley(times) == [gain / len(orders) for gain in gains]
    assert sum(shapley(times)) == times[0] - times[-1]


def test_by_hand():
    """Two causes that hide each other: removing one alone gains nothing, removing both gains 60 of 100."""
    assert shapley([100, 100, 100, 40]) == [30, 30]
    assert shapley([100, 70, 90, 60]) == [30, 10]


def sampled(times, pairs):
    n = len(times).bit_length() - 1
    return sampled_shapley(lambda sets: {taken: times[taken] for taken in sets}, n, pairs)


@given(subset_times, st.integers(2, 5))
def test_sampled_parts_sum_exactly_to_the_total_cost(times, pairs):
    found = sampled(times, pairs)
    assert sum(one.value for one in found) == times[0] - times[-1]
    assert found == sampled(times, pairs) and all(one.within >= 0 for one in found)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5))
def test_independent_causes_need_no_samples(gains):
    times = [sum(gains) - sum(gain for i, gain in enumerate(gains) if taken >> i & 1) for taken in range(1 << len(gains))]
    assert [(one.value, one.within) for one in sampled(times, 2)] == [(gain, 0.0) for gain in gains]


def test_sampled_parts_are_within_their_intervals():
    """Twelve causes in three chains of four; the longest chain determines the time, so they are far from independent."""
    weights = [7, 40, 23, 11, 31, 5, 17, 29, 13, 19, 37, 3]
    chains = [range(start, 12, 3) for start in range(3)]
    times = [max(sum(weights[i] for i in chain if not taken >> i & 1) for chain in chains) for taken in range(1 << 12)]
    exact, found = shapley(times), sampled(times, 200)
    inside = sum(abs(float(one.value - value)) <= one.within for one, value in zip(found, exact, strict=True))
    assert inside >= 10  # of 12; each interval covers 95 %
    assert max(one.within for one in found) < 0.1 * times[0]
