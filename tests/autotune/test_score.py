"""Recordings, the score by hand and by simulation of random search."""

from __future__ import annotations

import gzip
import itertools
import json

import numpy as np
import pytest

from rocm_perf_lab.autotune.recorded import read_recording
from rocm_perf_lab.autotune.score import RandomSearchScale
from rocm_perf_lab.autotune.simulation import simulate
from rocm_perf_lab.autotune.strategies import Options
from rocm_perf_lab.errors import TraceError


def test_the_score_by_hand():
    """Times 1, 2, 3, 4: random search finds 2.5 on average at first, 5/3 as the best of two, 5/4 of three, 1 of four.

    The median is 2.5; 95 % of the way to 1 is 1.075, which random search expects to reach with the fourth.
    """
    scale = RandomSearchScale([3, 1, 4, 2])
    assert scale.budget == 4
    assert scale.expected == pytest.approx([5 / 2, 5 / 3, 5 / 4, 1])
    # 2 at once, then 1: (0.5/1.5 + (5/3 - 1)/(2/3) + 1 + 0) / 4; the last is 0 because nothing is left to gain.
    assert scale.score([2, 1, 3, 4]) == pytest.approx((1 / 3 + 1 + 1 + 0) / 4)
    assert scale.score([1]) == pytest.approx(3 / 4)


def test_random_search_scores_zero_on_average_over_all_orders():
    times = [5.0, 1.0, None, 2.0, 2.0, 9.0]
    scale = RandomSearchScale(times, 0.8)
    assert np.mean([scale.score(order) for order in itertools.permutations(times)]) == pytest.approx(0, abs=1e-12)


def t1(entries):
    return {"tune_params_keys": ["a", "b"], "objective": "time",
            "cache": {f"{a},{b}": {"a": a, "b": b, "time": time} for a, b, time in entries}}  # fmt: skip


def t4(entries):
    def result(a, b, time):
        failed = isinstance(time, str)
        measurements = [] if failed else [{"name": "time", "value": time}]
        return {"configuration": {"a": a, "b": b}, "invalidity": "compile" if failed else "correct",
                "objectives": ["time"], "measurements": measurements}  # fmt: skip

    return {"results": [result(*entry) for entry in entries]}


ENTRIES = [(1, "x", 3.0), (1, "y", 1.0), (2, "x", "CompilationFailedConfig")]


@pytest.mark.parametrize("form", [t1, t4])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_both_formats(tmp_path, form, pack):
    path = tmp_path / "cache"
    path.write_bytes(pack(json.dumps(form(ENTRIES)).encode()))
    recording = read_recording(path)
    found = {tuple(recording.space.named(row).values()): time for row, time in recording.times.items()}
    assert found == {(1, "x"): 3.0, (1, "y"): 1.0, (2, "x"): None}
    assert sorted(recording.space) == sorted(recording.times)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"results": []}', b'{"results": [1]}', b"\x1f\x8b12", b'"results"'])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "cache").write_bytes(content)
    with pytest.raises(TraceError):
        read_recording(tmp_path / "cache")


@pytest.mark.parametrize("budget, evaluated", [(0, 0), (1, 1), (4, 4), (6, 6), (100, 6)])
def test_a_simulated_search_ends_with_its_budget_or_its_space(tmp_path, budget, evaluated):
    entries = [(a, b, 10.0 * a + b) for a in (1, 2, 3) for b in (0, 1)]
    (tmp_path / "cache").write_text(json.dumps(t1(entries)))
    recording = read_recording(tmp_path / "cache")
    trace, strategy = simulate(recording, "random", 7, Options(budget))
    assert len(trace) == len(set(trace)) == evaluated and set(trace) <= {time for *_, time in entries}
    assert trace == simulate(recording, "random", 7, Options(budget))[0]
    assert list(strategy.times.values()) == trace


@pytest.fixture(scope="module")
def dedispersion(shared_data):
    return read_recording(shared_data / "autotune" / "dedispersion_W6600.json.gz")


def test_the_budget_of_a_recorded_space(dedispersion):
    assert RandomSearchScale(dedispersion.times.values()).budget == 2334  # as published for it


def test_the_sequential_strategy_is_ahead_of_random_search(dedispersion):
    scale = RandomSearchScale(dedispersion.times.values())
    trace, _ = simulate(dedispersion, "sequential", 0, Options(200))
    assert min(trace) < scale.expected[400]  # random search with twice the evaluations


def test_the_sequential_strategy_finds_an_optimum_in_a_far_corner(dedispersion):
    """Everything around it is slow, and the next best are far from it and within 2 %."""
    scale = RandomSearchScale(dedispersion.times.values())
    traces = [simulate(dedispersion, "sequential", seed, Options(scale.budget))[0] for seed in range(2)]
    assert [min(trace) for trace in traces] == [scale.best] * 2
    assert sum(map(scale.score, traces)) / 2 > 0.92  # 0.980 ± 0.003 over 100 seeds
