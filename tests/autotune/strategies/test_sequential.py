"""The steps of the sequential search, worked out by hand with a generator whose draws are known."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

from rocm_perf_lab.autotune.space import Space
from rocm_perf_lab.autotune.strategies import Options, sequential
from rocm_perf_lab.autotune.strategies.sequential import (
    SequentialSearch,
    _batch_size,
    _expected_improvement,
    _most_promising,
    _normal_distribution,
)


class Draws:
    """A generator that always draws the same: random() is `number`, and a choice takes the first item."""

    def __init__(self, number: float = 0.0, floor: float = 1.0):
        self._number, self._floor = number, floor

    def random(self):
        return self._number

    def uniform(self, low, high):
        assert (math.exp(low), math.exp(high)) == pytest.approx((0.02, 0.2))
        return math.log(self._floor)

    def standard_normal(self, count):
        return np.zeros(count)

    def choice(self, some, count, replace=True):
        return np.asarray(some)[:count]


def search(space: Space | None = None, generator=None) -> SequentialSearch:
    return SequentialSearch(space or Space({"a": range(5), "b": range(6), "c": [1]}), generator or Draws(), Options(100))


@pytest.mark.parametrize(
    "row, off", [((0, 0, 0), 0), ((4, 5, 0), 0), ((1, 0, 0), 1), ((3, 5, 0), 1), ((0, 4, 0), 1), ((2, 1, 0), 2), ((4, 3, 0), 1)]
)
def test_the_number_of_values_away_from_the_ends_of_their_lists(row, off):
    assert search()._count_off_ends(row) == off


def test_half_of_the_first_batch_is_closest_to_the_ends_of_the_lists():
    strategy = search(generator=np.random.default_rng(0))
    batch = strategy.propose()
    assert len(batch) == len(set(batch)) == 8 and [strategy._count_off_ends(row) for row in batch[:4]] == [0] * 4
    again = strategy.propose()  # nothing is known: as many are drawn from all
    assert len(again) == 8 and not set(again) & set(batch)


def test_what_is_modelled_is_the_logarithm_of_the_excess_over_the_best():
    """A failure counts as slow as the slowest, and no time counts as less than a nanosecond per second."""
    strategy = search(generator=Draws(floor=0.5))
    strategy.times = {(0, 0, 0): math.e, (0, 1, 0): 1.0, (0, 2, 0): None, (0, 3, 0): math.e**3}
    # The excesses are 1, 0, 3 and 3; their median is 2.
    assert strategy._values_to_model() == pytest.approx(np.log([1 + 1, 0 + 1, 3 + 1, 3 + 1]))
    strategy.times = {(0, 0, 0): 5.0, (0, 1, 0): 5.0}
    assert strategy._values_to_model() == pytest.approx(np.log([0.5, 0.5]))
    strategy.times = {(0, 0, 0): 0.0, (0, 1, 0): 1.0, (0, 2, 0): 1e-9}
    values = strategy._values_to_model
    assert values()[1] == pytest.approx(math.log(math.log(1e9) + 0.5)) and values()[0] == values()[2]


@pytest.fixture
def fits(monkeypatch) -> list:
    """(number of values, steps of the walk or "smooth") for each fit."""
    made = []

    class Process:
        def __init__(self, dimensions, generator):
            assert dimensions == 1

        def fit(self, points, values, steps):
            made.append((len(values), steps))

        def fit_smooth(self, points, values):
            made.append((len(values), "smooth"))

    monkeypatch.setattr(sequential, "GaussianProcess", Process)
    return made


def fit(strategy: SequentialSearch, count: int, smooth: bool = False) -> list[float]:
    """Fits to `count` results, each slower than the next, and returns the values that were fitted."""
    pool = types.SimpleNamespace(points=np.zeros((count, 1)), index_of={(row,): row for row in range(count)})
    values = np.arange(count, 0, -1.0)
    strategy._fit(pool, [(row,) for row in range(count)], values, np.argsort(values, kind="stable"), smooth)
    return strategy._fitted.tolist()


def test_lengths_walk_again_once_results_have_grown_by_a_twentieth(fits):
    strategy = search()
    for count in (20, 20, 21, 22, 23, 40, 41, 42):
        fit(strategy, count)
    assert fits == [(20, 3), (20, 0), (21, 3), (22, 0), (23, 3), (40, 3), (41, 0), (42, 3)]
    fit(strategy, 60, smooth=True)
    fit(strategy, 43)
    assert fits[-2:] == [(60, "smooth"), (43, 0)]


@pytest.mark.parametrize("smooth, most", [(False, 150), (True, 250)])
def test_a_model_is_fitted_to_the_best_and_to_some_of_the_rest(fits, smooth, most):
    assert fit(search(), most, smooth) == [*range(1, most + 1)]
    strategy = search(generator=np.random.default_rng(0))
    found = fit(strategy, 2 * most, smooth)
    assert found[: most // 2] == [*range(1, most // 2 + 1)] and len(set(found)) == most
    assert [count for count, _ in fits] == [most, most]


@pytest.mark.parametrize(
    "number, count, chosen",
    [
        # The most promising, the seven fastest neighbours, and two drawn from the model, the last of which is replaced by one
        # drawn at random.
        (0.0, 10, [19, 10, 11, 12, 13, 14, 15, 16, 0, 2]),
        (0.0, 4, [19, 10, 11, 0]),
        (0.0, 1, [19]),
        (0.99, 1, [0]),  # at random
        (0.0, 40, [19, 0, 1, 2, 3, *range(10, 19), *range(4, 10)]),  # all there are
    ],
)
def test_a_batch_has_neighbours_and_draws_of_the_model(number, count, chosen):
    """Of 20 candidates, the last is the most promising, each of the others is slower than the one before, and 10 to 19 are
    neighbours."""
    candidates = np.arange(100, 120)
    mean = np.array([*np.linspace(0.5, 0.9, 19), 0.0])
    found = search(generator=Draws(number))._choose_batch((mean, np.full(20, 0.01)), candidates, candidates[10:], count, 0.4)
    assert (found - 100).tolist() == chosen


def test_what_the_model_promises():
    """With no expected gain, it is the spread over the root of two pi; with a certain gain, it is the gain."""
    found = _expected_improvement(np.array([2.0, 1.0, 3.0, 1.0]), np.array([0.5, 0.001, 0.001, 1.0]), 2.0)
    # The last has a ratio of 1: the distribution function is 0.841345, and the density 0.241971.
    assert found == pytest.approx([0.5 / math.sqrt(2 * math.pi), 1.0, 0.0, 0.841345 + 0.241971], abs=1e-6)
    assert _normal_distribution(np.array([0.0, 1.0, -1.0, 40.0])) == pytest.approx([0.5, 0.841345, 0.158655, 1.0], abs=1e-6)


@pytest.mark.parametrize("count, asked", [(150, 150), (1000, 1000), (1001, 1000), (3000, 1000)])
def test_the_shortlist_is_the_most_promising_200_of_the_1000_that_are_expected_to_be_fastest(count, asked):
    """Here, configurations that are expected to be slower are more promising."""
    predicted = []

    def predict(points):
        predicted.append(len(points))
        return np.full(len(points), 1.0), 0.1 + points[:, 0] / count

    pool = types.SimpleNamespace(points=np.arange(count)[:, None])
    process = types.SimpleNamespace(means=lambda points: points[:, 0].astype(float), predict=predict)
    found = _most_promising(pool, process, np.arange(count), 1.0)
    assert predicted == [asked] and found.tolist() == [*range(asked - 1, max(asked - 201, -1), -1)]


def test_the_quality_of_a_model():
    strategy = search()
    assert strategy.model() == {}
    strategy._process = types.SimpleNamespace(errors=lambda: np.array([0.5, -0.5, 0.5, -0.5]))
    strategy._fitted = np.array([1.0, 2.0, 3.0, 4.0])  # of variance 1.25
    assert strategy.model() == {"r2": pytest.approx(0.8), "residual": 0.5}
    strategy._fitted = np.full(4, 7.0)
    assert strategy.model() == {"r2": None, "residual": 0.5}


@pytest.mark.parametrize("results, size", [(0, 2), (8, 2), (49, 2), (50, 3), (100, 6), (1066, 63), (1067, 64), (5000, 64)])
def test_batches_grow_with_the_results(results, size):
    assert _batch_size(results) == size


@pytest.mark.parametrize(
    "times, is_modelled", [([None] * 8, False), ([None] * 7 + [2.0], False), ([None] * 6 + [2.0, 1.0], True)]
)
def test_two_results_are_enough_for_a_model(times, is_modelled):
    strategy = search(generator=np.random.default_rng(0))
    for row, time in zip(strategy.propose(), times, strict=True):
        strategy.tell(row, time)
    batch = strategy.propose()
    assert (strategy.model() != {}) == (strategy._pool is not None) == is_modelled and len(batch) == (2 if is_modelled else 8)


def test_what_each_batch_is_chosen_from(monkeypatch):
    """A smooth model looks everywhere, any other near the best; each has its shortlist, renewed as results grow by a tenth."""
    space = Space({"a": range(12), "b": range(12)})
    strategy, renewed, fitted, chosen = search(space, np.random.default_rng(1)), [], [], []
    fit, choose = strategy._fit, strategy._choose_batch

    def shortlist(pool, process, rest, best):
        renewed.append(len(strategy.times))
        return rest[:5]

    monkeypatch.setattr(sequential, "_most_promising", shortlist)
    monkeypatch.setattr(strategy, "_fit", lambda *given: fitted.append(given[-1]) or fit(*given))
    monkeypatch.setattr(strategy, "_choose_batch", lambda *given: chosen.append(given) or choose(*given))
    listed = {True: 0, False: 0}
    for row in strategy.propose():
        strategy.tell(row, 1.0 + row[0] + row[1])
    for _ in range(40):
        results, before = len(strategy.times), len(renewed)
        best = min(strategy.times, key=lambda row: strategy.times[row])
        batch = strategy.propose()
        smooth, (_, candidates, beside, size, _) = fitted[-1], chosen[-1]
        assert (len(renewed) > before) == (results >= 1.1 * listed[smooth]) and size == len(batch) == _batch_size(results)
        listed[smooth] = results if len(renewed) > before else listed[smooth]
        unasked = {row for row in space.neighbours(best) if row not in strategy.times}
        assert {tuple(strategy._pool.rows[at].tolist()) for at in beside} == (set() if smooth else unasked)
        assert {*beside.tolist()} <= {*candidates.tolist()} and candidates.tolist() == sorted({*candidates.tolist()})
        for row in batch:
            strategy.tell(row, 1.0 + row[0] + row[1])
    assert 4 < sum(fitted) < 25


def test_nothing_is_proposed_once_all_configurations_were():
    space = Space({"a": range(3), "b": range(3)})
    strategy = search(space, np.random.default_rng(0))
    while batch := strategy.propose():
        for row in batch:
            strategy.tell(row, 1.0)
    assert len(strategy.times) == 9 and strategy.propose() == []
