"""The loop between a strategy and its workers: order, budget, time, the cache, and errors."""

from __future__ import annotations

import threading
import types

import pytest

from rocm_perf_lab.autotune import search_loop
from rocm_perf_lab.autotune.evaluation_outcome import FAILED, LOST, OK, EvaluationOutcome
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration, SearchLoop, best_of, timed_evaluations
from rocm_perf_lab.autotune.space import Space

SPACE = Space({"x": range(10)})
WAYS = [dict(workers=1, asynchronous=False), dict(workers=1, asynchronous=True), dict(workers=2, asynchronous=False)]
every_way = pytest.mark.parametrize("way", WAYS)


class Scripted:
    """Proposes the given batches, and keeps the results that it receives."""

    def __init__(self, *batches: list[int]):
        self._batches, self.told = [*batches], []

    def propose(self):
        return [(one,) for one in self._batches.pop(0)] if self._batches else []

    def tell(self, configuration, time):
        self.told.append((configuration[0], time))


class Memory(dict):
    """A cache of outcomes, keyed by the value of x."""

    def get(self, values):
        return super().get(values["x"])

    def put(self, values, outcome):
        self[values["x"]] = outcome


def ok(ms: float) -> EvaluationOutcome:
    return EvaluationOutcome(OK, None, [ms], "wall")


def evaluate(values, _worker):
    return ok(10.0 * values["x"])


def loop(strategy, budget=100, evaluate=evaluate, cache=None, **options) -> SearchLoop:
    return SearchLoop(SPACE, strategy, evaluate, cache, budget, **options)


def test_the_first_of_equally_fast_ones_is_the_best():
    found = [
        EvaluatedConfiguration({"x": n}, outcome, False)
        for n, outcome in enumerate([EvaluationOutcome(FAILED), ok(2.0), ok(1.0), ok(1.0)])
    ]
    assert timed_evaluations(found) == [(2.0, found[1]), (1.0, found[2]), (1.0, found[3])]
    assert best_of(found) is found[2] and best_of(found[:1]) is None is best_of([])


@every_way
def test_proposals_are_evaluated_and_reported_in_order(way):
    strategy, heard = Scripted([3, 1, 2], [5, 4]), []
    found = loop(strategy, on_evaluation=lambda one, number: heard.append((one.values["x"], number)), **way).run()
    assert [one.values["x"] for one in found] == [3, 1, 2, 5, 4] and not any(one.reused for one in found)
    assert strategy.told == [(x, 10.0 * x) for x in (3, 1, 2, 5, 4)]
    assert heard == [(3, 1), (1, 2), (2, 3), (5, 4), (4, 5)]


@every_way
@pytest.mark.parametrize("budget, order", [(0, []), (1, [3]), (3, [3, 1, 2]), (4, [3, 1, 2, 5]), (6, [3, 1, 2, 5, 4])])
def test_a_batch_is_truncated_where_the_budget_ends(way, budget, order):
    strategy = Scripted([3, 1, 2], [5, 4])
    assert [one.values["x"] for one in loop(strategy, budget, **way).run()] == order == [x for x, _ in strategy.told]


@every_way
def test_cached_configurations_are_not_evaluated_again(way):
    cache, ran = Memory({2: ok(0.5)}), []

    def counted(values, worker):
        ran.append(values["x"])
        return EvaluationOutcome(LOST, "gone") if values["x"] == 1 else evaluate(values, worker)

    strategy = Scripted([3, 1, 2])
    found = loop(strategy, evaluate=counted, cache=cache, **way).run()
    assert sorted(ran) == [1, 3] and {one.values["x"]: one.reused for one in found} == {3: False, 1: False, 2: True}
    assert sorted(strategy.told) == [(1, None), (2, 0.5), (3, 30.0)]
    assert cache.keys() == {2, 3} and cache[3].ms == 30.0  # a lost configuration may run another time


@every_way
@pytest.mark.parametrize(
    "seconds, order", [(None, [3, 1, 2]), (2.0, [3, 1, 2]), (1.0, [3, 1]), (0.5, [3]), (0.0, [3]), (-1.0, [])]
)
def test_nothing_is_started_once_the_time_is_up(way, monkeypatch, seconds, order):
    """The clock stands still until the first configuration ends, and advances by a second with each."""
    now = [100.0]
    monkeypatch.setattr(search_loop, "time", types.SimpleNamespace(monotonic=lambda: now[0]))

    def slow(values, worker):
        now[0] += 1
        return evaluate(values, worker)

    way = way | {"workers": 1}
    strategy = Scripted([3], [1], [2])
    assert [one.values["x"] for one in loop(strategy, evaluate=slow, seconds=seconds, **way).run()] == order
    assert [x for x, _ in strategy.told] == order


@every_way
def test_an_error_stops_the_others_and_is_raised(way):
    stopped = []

    def broken(values, worker):
        if values["x"] == 1:
            raise ZeroDivisionError
        return evaluate(values, worker)

    with pytest.raises(ZeroDivisionError):
        loop(Scripted([3, 1, 2]), evaluate=broken, stop=lambda: stopped.append(True), **way).run()
    assert stopped == [True]
    stopped.clear()
    loop(Scripted([3, 2]), stop=lambda: stopped.append(True), **way).run()
    assert stopped == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_results_are_reported_in_batch_order_unless_the_search_is_asynchronous(asynchronous):
    """The first configuration ends only once all others have run."""
    others = threading.Semaphore(0)

    def first_is_slow(values, worker):
        if values["x"] == 3:
            assert others.acquire(timeout=10) and others.acquire(timeout=10)
        else:
            others.release()
        return evaluate(values, worker)

    strategy = Scripted([3, 1, 2])
    loop(strategy, evaluate=first_is_slow, workers=2, asynchronous=asynchronous).run()
    told = [x for x, _ in strategy.told]
    assert told == [3, 1, 2] if not asynchronous else told[0] == 1 and sorted(told) == [1, 2, 3]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_two_configurations_have_the_same_worker_at_once(asynchronous):
    busy, seen, lock = set(), set(), threading.Lock()
    together = threading.Barrier(3, timeout=10)

    def watched(values, worker):
        with lock:
            assert worker not in busy
            busy.add(worker)
            seen.add(worker)
        together.wait()
        with lock:
            busy.remove(worker)
        return evaluate(values, worker)

    found = loop(Scripted([*range(6)]), evaluate=watched, workers=3, asynchronous=asynchronous).run()
    assert len(found) == 6 and seen == {0, 1, 2}
