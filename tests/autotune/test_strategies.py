"""Every strategy on random spaces: what must hold regardless of its proposals."""

from __future__ import annotations

import math
import threading
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocm_perf_lab.autotune.cache import Cache
from rocm_perf_lab.autotune.evaluation_outcome import FAILED, OK, EvaluationOutcome
from rocm_perf_lab.autotune.expression import Expression
from rocm_perf_lab.autotune.search_loop import SearchLoop, best_of
from rocm_perf_lab.autotune.space import Rule, Space
from rocm_perf_lab.autotune.strategies import STRATEGIES, Options, create

VALUES = {"x": [1, 2, 4, 8, 16], "y": [1, 2, 3, 4, 5, 6], "z": ["left", "right"], "w": [0, 1, 2]}
every_strategy = pytest.mark.parametrize("name", STRATEGIES)


def space_of(limit: int) -> Space:
    expression = Expression(f"x * y <= {limit}", VALUES)
    return Space(VALUES, [Rule(frozenset(expression.names), expression)])


def evaluate(values, _worker=0) -> EvaluationOutcome:
    """Fails for w == 1, which would otherwise be the fastest."""
    if values["w"] == 1:
        return EvaluationOutcome(FAILED, "fails")
    ms = 1 + abs(math.log2(values["x"]) - 2) + abs(values["y"] - 3) + (values["z"] == "left") + values["w"]
    return EvaluationOutcome(OK, None, [ms], "wall")


def run(name, limit, seed, budget, workers=1, cache=None, evaluate=evaluate):
    space = space_of(limit)
    search = SearchLoop(space, create(name, space, seed, Options(budget)), evaluate, cache, budget, workers=workers)
    return space, search.run()


@every_strategy
@settings(max_examples=6)
@given(limit=st.integers(1, 96), seed=st.integers(0, 1000), budget=st.integers(1, 200))
def test_what_always_holds(name, limit, seed, budget):
    space, found = run(name, limit, seed, budget)
    rows = [tuple(one.values.items()) for one in found]
    assert len(set(rows)) == len(rows) <= budget
    assert all(one.values["x"] * one.values["y"] <= limit for one in found)
    if name != "three-phase":  # it prunes
        assert len(rows) == min(budget, len(space.listed))
    best = best_of(found)
    assert best is None or (best.outcome.status == OK and best.values["w"] != 1)
    assert best is not None or all(one.outcome.status == FAILED for one in found)
    assert [one.values for one in run(name, limit, seed, budget, workers=3)[1]] == [one.values for one in found]


@every_strategy
@settings(max_examples=4)
@given(seed=st.integers(0, 1000), budget=st.integers(1, 200), workers=st.integers(1, 5))
def test_what_holds_when_workers_do_not_wait_for_each_other(name, seed, budget, workers):
    space = space_of(40)
    strategy = create(name, space, seed, Options(budget))
    found = SearchLoop(space, strategy, evaluate, None, budget, workers=workers, asynchronous=True).run()
    rows = {tuple(one.values.items()) for one in found}
    assert len(rows) == len(found) <= budget and all(one.values["x"] * one.values["y"] <= 40 for one in found)
    if name != "three-phase":
        assert len(rows) == min(budget, len(space.listed))
    best = best_of(found)
    assert best is None or best.values["w"] != 1


@every_strategy
def test_a_slow_configuration_holds_up_no_other_worker(name):
    """The first one ends when 39 others have, so a search that waited for it would run into the timeout and fail."""
    done, first = threading.Semaphore(0), threading.Lock()

    def one_is_slow(values, _worker):
        if first.acquire(blocking=False):
            for _ in range(39):
                assert done.acquire(timeout=60)
        outcome = evaluate(values)
        done.release()
        return outcome

    space = space_of(96)
    strategy = create(name, space, 0, Options(40))
    found = SearchLoop(space, strategy, one_is_slow, None, 40, workers=2, asynchronous=True).run()
    assert len({tuple(one.values.items()) for one in found}) == 40


@every_strategy
def test_another_seed_gives_another_trace(name):
    assert run(name, 96, 1, 30)[1] != run(name, 96, 2, 30)[1]


@every_strategy
def test_an_interrupted_search_resumes_without_repeating(name, tmp_path):
    ran = []

    def counted(values, _worker):
        if len(ran) == 25 and not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        ran.append(tuple(values.items()))
        return evaluate(values)

    interrupted = []
    with pytest.raises(KeyboardInterrupt):
        run(name, 96, 5, 60, cache=Cache(tmp_path / "cache.db", "key"), evaluate=counted)
    resumed = run(name, 96, 5, 60, cache=Cache(tmp_path / "cache.db", "key"), evaluate=counted)[1]
    assert len(set(ran)) == len(ran) == len(resumed)
    assert sum(one.reused for one in resumed) == 25
    assert [one.values for one in resumed] == [one.values for one in run(name, 96, 5, 60)[1]]


def test_another_experiment_reuses_nothing(tmp_path):
    path = tmp_path / "cache.db"
    run("random", 96, 0, 10, cache=Cache(path, "one"))
    assert not any(one.reused for one in run("random", 96, 0, 10, cache=Cache(path, "other"))[1])


def test_a_model_that_fits_badly_prunes_nothing():
    def noise(values, _worker=0):
        return EvaluationOutcome(OK, None, [1 + zlib.crc32(repr(values).encode()) % 1000], "wall")

    space = space_of(96)
    strategy = create("three-phase", space, 0, Options(1000))
    found = SearchLoop(space, strategy, noise, None, 1000).run()
    assert strategy.model()["r2"] < 0.75 and "not trusted" in strategy.model()["warning"]
    assert len(found) == len(space.listed)


def test_a_model_that_fits_well_prunes_slow_configurations():
    def smooth(values, _worker=0):
        return EvaluationOutcome(OK, None, [1.0 + (values["y"] - 3) ** 2], "wall")

    space = space_of(96)
    strategy = create("three-phase", space, 0, Options(1000))
    found = SearchLoop(space, strategy, smooth, None, 1000).run()
    seeds = math.ceil(0.2 * len(space.listed))
    assert strategy.model()["r2"] > 0.99
    assert {one.values["y"] for one in found[seeds:]} == {3}
    assert sum(one.values["y"] == 3 for one in found) == sum(row[1] == 2 for row in space)


@pytest.mark.parametrize("names", [("BLOCK_M", "BLOCK_N", "UNROLL"), ("BM", "BN", "U")])
def test_parameters_named_like_a_tile_hide_no_other_parameter(names):
    """The third parameter accounts for most of the time: the model has to see it whatever the others are called."""
    sizes = [16, 32, 64, 128]
    space = Space({names[0]: sizes, names[1]: sizes, names[2]: [1, 2, 3, 4, 5]}, [])

    def timed(values, _worker=0):
        m, n, unroll = (values[name] for name in names)
        return EvaluationOutcome(OK, None, [100 - 15 * unroll + 1e-3 * m * n], "wall")

    strategy = create("three-phase", space, 0, Options(1000))
    found = SearchLoop(space, strategy, timed, None, 1000).run()
    assert strategy.model()["r2"] > 0.99 and len(found) < 80


def test_the_square_of_a_tile_is_a_feature_of_the_model():
    sizes = [16, 32, 48, 64, 96, 128]
    space = Space({"BLOCK_M": sizes, "BLOCK_N": sizes}, [])

    def timed(values, _worker=0):
        return EvaluationOutcome(OK, None, [1 + (values["BLOCK_M"] * values["BLOCK_N"] / 4096 - 1) ** 2], "wall")

    strategy = create("three-phase", space, 0, Options(1000))
    SearchLoop(space, strategy, timed, None, 1000).run()
    assert strategy.model()["r2"] > 0.99


@pytest.mark.parametrize("name", ["sequential", "three-phase"])
def test_what_is_known_about_the_code_guides_the_search(name):
    """The times depend on the code alone, and no parameter reveals them."""
    space = Space({"x": list(range(20)), "y": list(range(20))})
    cost = {row: zlib.crc32(bytes(row)) % 1000 for row in map(tuple, space.listed.tolist())}

    def best(features, seed):
        options = Options(40, {"seed_fraction": 0.5} if name == "three-phase" else {}, None, features)
        search = SearchLoop(space, create(name, space, seed, options), timed, None, 40)
        return best_of(search.run()).outcome.ms

    def timed(values, _worker):
        return EvaluationOutcome(OK, None, [1.0 + cost[space.configuration_of(values)]], "wall")

    def features(values):
        return 7.0, float(cost[space.configuration_of(values)])

    least = 1.0 + min(cost.values())
    assert [best(features, seed) for seed in range(3)] == [least] * 3
    assert sum(best(None, seed) == least for seed in range(3)) < 3


@every_strategy
def test_configurations_that_were_good_before_come_first(name):
    space = space_of(96)
    first = space.sample(np.random.default_rng(1), 2)
    strategy = create(name, space, 0, Options(12, first=first))
    proposed = [row for _ in range(3) for row in _told(strategy, strategy.propose())]
    assert proposed[:2] == first and len(set(proposed)) == len(proposed)


def _told(strategy, batch):
    for number, row in enumerate(batch):
        strategy.tell(row, 1.0 + number)
    return batch
