"""The phases of a search with a quadratic model, worked out by hand with an invented model."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rocm_perf_lab.autotune.space import Space
from rocm_perf_lab.autotune.strategies import Options
from rocm_perf_lab.autotune.strategies.three_phase import ThreePhaseSearch, _numeric

FEW = "too few configurations ran to fit a model: nothing is pruned"


def search(
    space: Space, budget: int = 100, seed_fraction: float = 0.2, prune_factor: float = 1.75, features=None
) -> ThreePhaseSearch:
    own = {"seed_fraction": seed_fraction, "prune_factor": prune_factor}
    return ThreePhaseSearch(space, np.random.default_rng(0), Options(budget, own, features=features))


def test_numbers_stand_for_themselves_and_text_for_its_position():
    space = Space({"a": [1, 2, 8], "b": ["x", 5, "y"], "c": [True, False], "d": [0.5]})
    assert _numeric(space, np.array([[2, 1, 0, 0], [0, 2, 1, 0]])).tolist() == [[8, 1, 1, 0.5], [1, 2, 0, 0.5]]


@pytest.mark.parametrize(
    "budget, fraction, count",
    [(100, 0.2, 20), (101, 0.2, 21), (1000, 0.2, 80), (400, 0.5, 200), (50, 0.2, 10), (10, 0.2, 10), (1000, 0.001, 10)],
)
def test_the_first_sample_is_a_share_of_the_budget_or_of_the_space(budget, fraction, count):
    """The space has 400 configurations."""
    batch = search(Space({"a": range(20), "b": range(20)}), budget, fraction).propose()
    assert len(batch) == len(set(batch)) == count and all(0 <= a < 20 and 0 <= b < 20 for a, b in batch)


def test_where_few_are_valid_random_configurations_complete_the_sample():
    members = [(at, at) for at in range(40)]
    batch = search(Space({"a": range(40), "b": range(40)}, members=members), 50).propose()
    assert len(batch) == len(set(batch)) == 10 and set(batch) <= set(members)


def ordered(predicted: list[float], r2: float, good: int = 5, prune_factor: float = 1.75):
    """What is proposed after five results, the best of which took 2, with predictions for the others."""
    space = Space({"a": range(5 + len(predicted))})
    strategy = search(space, prune_factor=prune_factor)
    strategy.asked = {(at,): None for at in range(5)}
    strategy.times = {(at,): 2.0 + at if at < good else None for at in range(5)}
    strategy._features = lambda rows: np.array([[row[0]] for row in rows], float)
    regression = types.SimpleNamespace(predict=lambda features: np.array([predicted[int(at) - 5] for (at,) in features]))
    strategy._fit = lambda known: (regression, np.array([*known.values()]), r2)
    return [row[0] - 5 for row in strategy._predicted_order()], strategy


@pytest.mark.parametrize(
    "r2, factor, order",
    [
        (0.75, 1.75, [2, 0, 3]),
        (0.9, 1.75, [2, 0, 3]),
        (0.9, 2.0, [2, 0, 3, 1]),
        (0.9, 1.0, [2]),
        (0.7499, 1.0, [2, 0, 3, 1, 4]),
    ],
)
def test_a_trusted_model_prunes_what_it_expects_to_be_slower_by_a_factor(r2, factor, order):
    assert ordered([3.0, 3.75, 1.5, 3.5, 9.0], r2, prune_factor=factor)[0] == order


def test_equal_predictions_keep_their_order():
    assert ordered([3.0, 1.0, 3.0, 1.0], 0.9)[0] == [1, 3, 0, 2]


def test_without_five_results_nothing_is_pruned():
    order, strategy = ordered([3.0, 1.0, 9.0], 0.9, good=4)
    assert sorted(order) == [0, 1, 2] and strategy.model() == {"r2": None, "residual": None, "warning": FEW}
    assert ordered([], 0.9)[0] == []


def test_the_rest_follows_in_batches_of_sixteen():
    order, strategy = ordered([float(number) for number in range(40)], 0.5)
    batches = [strategy.propose() for _ in range(4)]
    assert [len(batch) for batch in batches] == [16, 16, 8, 0]
    assert [row[0] - 5 for batch in batches for row in batch] == order == [*range(40)]


def fitted(times) -> ThreePhaseSearch:
    space = Space({"a": range(len(times))})
    strategy = search(space)
    strategy._fit({(at,): time for at, time in enumerate(times)})
    return strategy


def test_the_quality_of_a_model_is_measured_on_results_left_out_of_its_fit():
    good = fitted([(at - 3.0) ** 2 + 1 for at in range(12)]).model()
    assert set(good) == {"r2", "residual"} and good["r2"] == pytest.approx(1) and good["residual"] == pytest.approx(0, abs=1e-6)
    bad = fitted([1.0, 9.0] * 6).model()
    assert bad["r2"] < 0.75
    assert bad["warning"] == f"R2 of {bad['r2']:.2f} is below 0.75: the model is not trusted and nothing is pruned"


@pytest.mark.parametrize(
    "names, features, rows",
    [
        (("a", "b"), None, [[2, 3], [4, 5]]),
        (("BLOCK_M", "BLOCK_N"), None, [[2, 3, 36], [4, 5, 400]]),
        (("BLOCK_N", "BLOCK_M"), lambda values: (values["BLOCK_N"] + 0.5, 7.0), [[2, 3, 36, 2.5, 7], [4, 5, 400, 4.5, 7]]),
        (("BLOCK_M", "b"), lambda values: (1.0,), [[2, 3, 1], [4, 5, 1]]),
    ],
)
def test_columns_of_the_model(names, features, rows):
    space = Space({names[0]: [2, 4], names[1]: [3, 5]})
    assert search(space, features=features)._features([(0, 0), (1, 1)]).tolist() == rows
