"""The result of a search as text, by hand."""

from __future__ import annotations

import pytest

from rocm_perf_lab.autotune import table as autotune_table
from rocm_perf_lab.autotune.autotune_document import BestProfile
from rocm_perf_lab.autotune.entry import _Listener
from rocm_perf_lab.autotune.evaluation_outcome import OK, EvaluationOutcome
from rocm_perf_lab.autotune.results import TuningResult
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration
from rocm_perf_lab.autotune.table import table

TIMES = [5.0, 7.0, None, 4.0, 6.0, 3.5, 12.0, 11.0, 10.0, 9.0, 8.0, 13.0, 2.0]


def evaluated() -> list[EvaluatedConfiguration]:
    outcomes = [
        EvaluationOutcome("timeout", "exit status 5") if ms is None else EvaluationOutcome(OK, runs=[ms], measure="wall")
        for ms in TIMES
    ]
    return [EvaluatedConfiguration({"a": number}, outcome, reused=number < 2) for number, outcome in enumerate(outcomes)]


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


def outcome(*runs: float, unstable: bool = False) -> EvaluationOutcome:
    return EvaluationOutcome(OK, None, [*runs], "gpu", unstable)


def result(*outcomes: EvaluationOutcome, total: int | None = 9, model=None, profile=None) -> TuningResult:
    found = [EvaluatedConfiguration({"a": number, "b": 2}, one, False) for number, one in enumerate(outcomes)]
    return TuningResult("random", 7, 20, "a GPU", total, found, model or {}, {}, profile=profile)


def test_each_further_line_is_printed_only_if_it_applies():
    model = {"r2": 0.5, "residual": 0.0123456, "warning": "too few"}
    profile = BestProfile.model_construct(run_directory="best.rocm-perf", kernel="sum()", bottleneck="latency-bound")
    lines = table(
        result(outcome(2.0, 2.0, 2.0), outcome(8.0, 10.0, 12.0, unstable=True), total=None, model=model, profile=profile)
    )
    assert lines[0] == "2 configurations evaluated on a GPU: 0 reused, 0 failed, 1 unstable; random, seed 7"
    assert lines[1] == "best: 2 ms (measured, gpu time): a=0 b=2"
    assert lines[2:] == [
        "  mean of its runs, 95 % interval: 2 to 2 ms; ahead of the next",
        "  profile: sum() is latency-bound; see best.rocm-perf",
        "model: R2 0.50, residual 0.0123, for predictions of unseen configurations",
        "  too few",
        "        ms  configuration",
        "         2  a=0 b=2",
        "        10  a=1 b=2, CV 20.0%, UNSTABLE",
    ]


@pytest.mark.parametrize(
    "others, words",
    [
        ([], "no other ran"),
        ([EvaluationOutcome("timeout")], "no other ran"),
        ([outcome(20.0, 20.0)], "ahead of the next"),
        ([outcome(10.1, 10.3, 10.2)], "not distinguishable from the next"),
    ],
)
def test_how_certain_it_is_that_the_best_is_the_best(others, words):
    lines = table(result(outcome(9.5, 10.0, 10.5), *others))
    (line,) = [line for line in lines if "95 % interval" in line]
    assert line.endswith(f"; {words}") and "best: 10 ms (measured, gpu time, CV 5.0%): a=0 b=2" in lines


def test_a_search_with_nothing_but_failures():
    failures = [EvaluationOutcome(status) for status in ("failed", "timeout", "timeout")]
    assert table(result(*failures)) == [
        "3 of 9 configurations evaluated on a GPU: 0 reused, 3 failed, 0 unstable; random, seed 7",
        "  2 timeout",
        "  1 failed",
    ]


def test_parameters_that_matter_most_come_first(monkeypatch):
    shares = {"a": 0.2, "b": 0.7, "c": 0.1}
    given = autotune_table.document
    monkeypatch.setattr(autotune_table, "document", lambda found: given(found).model_copy(update={"importance": shares}))
    assert "importance: b 70%, a 20%, c 10%" in table(result(outcome(1.0)))


class Kept:
    def __init__(self):
        self.measures = []

    def keep(self, measure):
        self.measures.append(measure)


def test_a_search_of_a_recorded_space_reports_only_each_new_best():
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
