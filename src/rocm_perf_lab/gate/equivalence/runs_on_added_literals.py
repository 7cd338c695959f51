"""Judges candidates on inputs made from the numbers that they name. Unlike other inputs, these depend on the candidate."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.gate.equivalence.baseline_results import BaselineResults
from rocm_perf_lab.gate.equivalence.case_comparison import allowed_seconds, compare_case
from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.equivalence.races import new_race, without_unwritten_reads
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.replaying import CaseOutcome

_SLOWDOWN = 4  # factor by which the race check slows a run down


def wrong_on_added_literals(
    baseline_results: BaselineResults, candidate: ReplayableCode, numbers: Sequence[float], outcomes: dict[str, str]
) -> Mismatch | None:
    """What is wrong with a candidate on inputs that consist of these numbers; None if nothing is. outcomes: receives the
    outcome of each case. All cases run in the usual order; on the software device, they run under the race check.
    """
    baseline_cases = baseline_results.cases_with_numbers(tuple(numbers)) if numbers else []
    outcomes |= {
        baseline_case.name: "dropped: the baseline itself fails on it"
        for baseline_case in baseline_cases
        if baseline_case.outcome.failure
    }
    usable = [baseline_case for baseline_case in baseline_cases if not baseline_case.outcome.failure]
    if not usable:
        return None
    known = [race for baseline_case in usable for race in baseline_case.outcome.races]
    with tempfile.TemporaryDirectory(dir=baseline_results.folder) as folder:
        seconds = _SLOWDOWN * allowed_seconds(baseline_results, len(usable))
        replayed = baseline_results.replay(
            [baseline_case.case for baseline_case in usable], Path(folder), candidate, seconds=seconds
        )
        for baseline_case, outcome in zip(usable, replayed, strict=True):
            complaint = compare_case(baseline_results, baseline_case, outcome) or _race_mismatch(
                baseline_results, known, outcome
            )
            if complaint and (why := baseline_results.why_inconclusive(baseline_case, outcome)):
                outcomes[baseline_case.name] = why
                continue
            outcomes[baseline_case.name] = "differs" if complaint else "equal"
            if complaint:
                return Mismatch(f"on {baseline_case.name}: {complaint.reason}", complaint.difference, baseline_case.name)
    return None


def _race_mismatch(baseline_results: BaselineResults, known: Sequence[str], outcome: CaseOutcome) -> Mismatch | None:
    races = without_unwritten_reads(baseline_results.races_that_matter(outcome.races))
    race = new_race(known, races, baseline_results.capture, baseline_results.kernel_inputs.buffers)
    return Mismatch(f"it races: {race}") if race else None
