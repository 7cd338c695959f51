"""The time of an outcome, how much it varies, and what kind of time it is."""

from __future__ import annotations

import pytest

from rocm_perf_lab.autotune.evaluation_outcome import FAILED, GPU, OK, RECORDED, WALL, EvaluationOutcome, variation


@pytest.mark.parametrize(
    "runs, ms, cv",
    [
        ([3.0], 3.0, None),
        ([1.0, 9.0, 2.0], 2.0, 1.089725),
        ([9.0, 11.0], 10.0, 0.141421),
        ([2.0] * 4, 2.0, 0.0),
        ([0.0, 0.0], 0.0, None),
    ],
)
def test_the_time_is_the_median(runs, ms, cv):
    outcome = EvaluationOutcome(OK, None, runs, WALL)
    assert (outcome.ms, outcome.cv) == (ms, pytest.approx(cv, abs=1e-6) if cv is not None else None)
    failed = EvaluationOutcome(FAILED, "why", runs)
    assert failed.ms is None is failed.cv


@pytest.mark.parametrize("runs", [[], [1.0], [0.0, 0.0], [-1.0, -2.0]])
def test_outcomes_without_a_variation(runs):
    assert variation(runs) is None


@pytest.mark.parametrize(
    "measure, modelled, kind",
    [
        (RECORDED, False, "recorded"), (RECORDED, True, "recorded, modelled"), (GPU, False, "measured, gpu time"),
        (WALL, False, "measured, wall time"), (GPU, True, "modelled"),
    ],
)  # fmt: skip
def test_the_kind_of_time(measure, modelled, kind):
    assert EvaluationOutcome(OK, None, [1.0], measure, modelled=modelled).kind == kind
