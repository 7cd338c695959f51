"""Which gains of accepted candidates the timing model can decide."""

from __future__ import annotations

import pytest

from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.arch.timing_parameters import table_hash
from rocm_perf_lab.gate.verdict import Verdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import ApplicationEvidence, MeasurementEvidence


def verdict(ratio: float, timing: str = "modelled", parameters: str | None = None, how=passed) -> Verdict:
    program = ApplicationEvidence(runtime_ms=(2.0, 1.0), timing=timing, timing_parameters=parameters)
    return Verdict((passed("measurement", "", MeasurementEvidence(ratio=ratio)), how("application", "", program)))


def test_a_gain_is_decided_if_it_is_beyond_the_models_error_for_differences():
    least = 1 / (1 + error_for_differences(table_hash()))
    assert verdict(least * 0.999, parameters=table_hash()).undecided is None
    undecided = verdict(least * 1.001, parameters=table_hash())
    assert undecided.accepted and f"confirm only gains of {1 - least:.0%} or more" in undecided.undecided
    assert undecided.document().undecided == undecided.undecided
    assert Verdict.from_document(undecided.document()).undecided == undecided.undecided


@pytest.mark.parametrize("parameters", ["f00d", None])
def test_with_parameters_of_unknown_error_nothing_is_decided(parameters):
    assert "timing parameters other than" in verdict(0.01, parameters=parameters).undecided


def test_measured_times_and_rejected_candidates_leave_nothing_to_decide():
    assert verdict(0.99, timing="measured").undecided is None
    assert verdict(0.99, parameters=table_hash(), how=rejected).undecided is None
    assert Verdict((passed("source", ""),)).undecided is None
