"""Compares a candidate's memory after each case with the baseline's."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.errors import UnfitCodeError
from rocm_perf_lab.gate.equivalence.baseline_case import BaselineCase
from rocm_perf_lab.gate.equivalence.baseline_results import BaselineResults
from rocm_perf_lab.gate.equivalence.memory_difference import Outputs, difference
from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.equivalence.unproven_inputs import DIFFERS_IN_SAME_MEMORY
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.replaying import CaseOutcome

# A candidate may take this multiple of the baseline's wall time, or this many seconds if that is longer.
_TIME_FACTOR, _MIN_SECONDS = 20, 90.0


def wrong_memory(baseline_results: BaselineResults, candidate: ReplayableCode, outcomes: dict[str, str]) -> Mismatch | None:
    """What is wrong with the candidate's memory after any of the cases; None if nothing is. outcomes: receives the outcome of
    each case.
    """
    left = baseline_results.cases
    while left:
        outcomes |= {
            baseline_case.name: "dropped: the baseline itself fails on it"
            for baseline_case in left
            if baseline_case.outcome.failure
        }
        dropped: list[BaselineCase] = []
        if complaint := _mismatch_on(
            baseline_results,
            [baseline_case for baseline_case in left if not baseline_case.outcome.failure],
            candidate,
            outcomes,
            dropped,
        ):
            return complaint
        left = [part for baseline_case in dropped for part in baseline_results.parts_of(baseline_case)]
    return None


def _mismatch_on(
    baseline_results: BaselineResults,
    baseline_cases: Sequence[BaselineCase],
    candidate: ReplayableCode,
    outcomes: dict[str, str],
    dropped: list[BaselineCase],
) -> Mismatch | None:
    """Like wrong_memory(), but for these cases. dropped: receives the cases for which why_inconclusive() gave a reason."""
    if not baseline_cases:
        return None
    with tempfile.TemporaryDirectory(dir=baseline_results.folder) as folder:
        try:
            cases = [baseline_case.case for baseline_case in baseline_cases]
            replayed = baseline_results.replay(
                cases, Path(folder), candidate, seconds=allowed_seconds(baseline_results, len(cases))
            )
        except UnfitCodeError as error:
            return Mismatch(error.problem)
        for baseline_case, outcome in zip(baseline_cases, replayed, strict=True):
            complaint = compare_case(baseline_results, baseline_case, outcome)
            if complaint and baseline_case.perturbation and baseline_case.perturbation.same_memory:
                outcomes[baseline_case.name] = DIFFERS_IN_SAME_MEMORY
                continue
            if complaint and (why := baseline_results.why_inconclusive(baseline_case, outcome)):
                outcomes[baseline_case.name] = why
                dropped.append(baseline_case)
                continue
            outcomes[baseline_case.name] = "differs" if complaint else "equal"
            if complaint:
                return Mismatch(f"on {baseline_case.name}: {complaint.reason}", complaint.difference, baseline_case.name)
    return None


def allowed_seconds(baseline_results: BaselineResults, cases: int) -> float:
    """The wall time in seconds that a candidate is allowed for this many cases."""
    return max(_MIN_SECONDS, _TIME_FACTOR * baseline_results.seconds * cases)


def compare_case(baseline_results: BaselineResults, baseline_case: BaselineCase, outcome: CaseOutcome) -> Mismatch | None:
    """What is wrong with a candidate's memory after one case; None if nothing is."""
    if outcome.failure:  # omit the capture's path, which means nothing to a proposer
        return Mismatch(outcome.failure.removeprefix(f"{baseline_results.capture.path}: "))
    expected, actual = Outputs(baseline_case.outcome.dump), Outputs(outcome.dump)
    inputs, nans = baseline_results.inputs_on(baseline_case), baseline_results.nans_on(baseline_case)
    if memory_difference := difference(
        expected, actual, baseline_results.kernel_inputs.buffers, baseline_results.ulps, inputs, nans
    ):
        return Mismatch(memory_difference.reason, memory_difference.where)
    return None
