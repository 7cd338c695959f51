"""The result of a search as text, by hand."""

from __future__ import annotations

from rocm_perf_lab.autotune.entry import _Listener
from rocm_perf_lab.autotune.evaluation_outcome import OK, EvaluationOutcome
from rocm_perf_lab.autotune.results import TuningResult
from rocm_perf_lab.autotune.search_loop import Evaluated
from rocm_perf_lab.autotune.table import table

TIMES = [5.0, 7.0, None, 4.0, 6.0, 3.5, 12.0, 11.0, 10.0, 9.0, 8.0, 13.0, 2.0]


def evaluated() -> list[Evaluated]:
    outcomes = [
        EvaluationOutcome("timeout", "exit status 5") if ms is None else EvaluationOutcome(OK, runs=[ms], measure="wall")
        for ms in TIMES
    ]
    return [Evaluated({"a": number}, outcome, reused=number < 2) for number, outcome in enumerate(outcomes)]


def test_the_ten_best_follow_the_summary():
    lines = table(TuningResult("random", 7, 20, "gfx942", 40, evaluated(), {}, {}, {"a": 0}))
    assert lines[:4] == [
        "13 of 40 configurations evaluated on gfx942: 2 reused, 1 failed, 0 unstable; random, seed 7",
        "  1 timeout",
        "best: 2 ms (measured, wall time): a=12",
        "  2.50x faster than the defaults",
    ]
    rows = lines[lines.index("        ms  configuration") + 1 :]
    best = sorted((ms, number) for number, ms in enumerate(TIMES) if ms is not None)[:10]
    assert rows == [f"{ms:10.4g}  a={number}" for ms, number in best]


class Kept:
    def __init__(self):
        self.measures = []

    def keep(self, measure):
        self.measures.append(measure)


def test_a_search_in_a_recording_reports_only_what_is_better():
    said: dict[bool, list[str]] = {}
    for only_better in (True, False):
        said[only_better], kept = [], Kept()
        listener = _Listener(kept, 20, said[only_better].append, only_better)
        for number, one in enumerate(evaluated(), 1):
            listener(one, number)
        assert kept.measures == ["wall"] * 12
    assert [line.split(" ")[0] for line in said[True]] == ["1", "4", "6", "13"]
    assert said[False][:3] == [
        "1 of at most 20: a=0: 5 ms",
        "2 of at most 20: a=1: 7 ms",
        "3 of at most 20: a=2: exit status 5",
    ]
    assert len(said[False]) == 13
