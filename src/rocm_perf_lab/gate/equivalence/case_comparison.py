"""Compares a candidate's memory after each case with the baseline's."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.errors import UnfitCodeError
from rocm_perf_lab.gate.equivalence.baseline_results import Reference
from rocm_perf_lab.gate.equivalence.memory_difference import Outputs, difference
from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.equivalence.tried_case import TriedCase
from rocm_perf_lab.gate.equivalence.unproven_inputs import DIFFERS_IN_SAME_MEMORY
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.replaying import CaseOutcome

# A candidate may take this multiple of the baseline's wall time, or this many seconds if that is longer.
_PATIENCE, _LEAST_PATIENCE_SECONDS = 20, 90.0


def wrong_memory(reference: Reference, candidate: ReplayableCode, outcomes: dict[str, str]) -> Mismatch | None:
    """What is wrong with the candidate's memory after any of the cases; None if nothing is. outcomes: receives the outcome of
    each case.
    """
    left = reference.tried
    while left:
        outcomes |= {one.name: "dropped: the baseline itself fails on it" for one in left if one.outcome.failure}
        dropped: list[TriedCase] = []
        if complaint := _wrong_on(reference, [one for one in left if not one.outcome.failure], candidate, outcomes, dropped):
            return complaint
        left = [part for one in dropped for part in reference.parts_of(one)]
    return None


def _wrong_on(
    reference: Reference,
    tried: Sequence[TriedCase],
    candidate: ReplayableCode,
    outcomes: dict[str, str],
    dropped: list[TriedCase],
) -> Mismatch | None:
    """Like wrong_memory(), but for these cases. dropped: receives the cases for which why_unfit() gave a reason."""
    if not tried:
        return None
    with tempfile.TemporaryDirectory(dir=reference.folder) as folder:
        try:
            cases = [one.case for one in tried]
            replayed = reference.replay(cases, Path(folder), candidate, seconds=patience(reference, len(cases)))
        except UnfitCodeError as error:
            return Mismatch(error.what)
        for one, outcome in zip(tried, replayed, strict=True):
            complaint = compared(reference, one, outcome)
            if complaint and one.perturbation and one.perturbation.same_memory:
                outcomes[one.name] = DIFFERS_IN_SAME_MEMORY
                continue
            if complaint and (why := reference.why_unfit(one, outcome)):
                outcomes[one.name] = why
                dropped.append(one)
                continue
            outcomes[one.name] = "differs" if complaint else "equal"
            if complaint:
                return Mismatch(f"on {one.name}: {complaint.reason}", complaint.difference, one.name)
    return None


def patience(reference: Reference, cases: int) -> float:
    """The wall time in seconds that a candidate is allowed for this many cases."""
    return max(_LEAST_PATIENCE_SECONDS, _PATIENCE * reference.seconds * cases)


def compared(reference: Reference, one: TriedCase, outcome: CaseOutcome) -> Mismatch | None:
    """What is wrong with a candidate's memory after one case; None if nothing is."""
    if outcome.failure:  # omit the capture's path, which means nothing to a proposer
        return Mismatch(outcome.failure.removeprefix(f"{reference.capture.path}: "))
    expected, found = Outputs(one.outcome.dump), Outputs(outcome.dump)
    inputs, nans = reference.inputs_on(one), reference.nans_on(one)
    if apart := difference(expected, found, reference.arguments.buffers, reference.ulps, inputs, nans):
        return Mismatch(apart.reason, apart.where)
    return None
