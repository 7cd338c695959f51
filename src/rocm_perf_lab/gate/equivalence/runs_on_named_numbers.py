"""Judges candidates on inputs made from the numbers that they name. Unlike other inputs, these depend on the candidate."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.gate.equivalence.baseline_results import Reference
from rocm_perf_lab.gate.equivalence.case_comparison import compared, patience
from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.equivalence.races import new_race, without_unwritten_reads
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.replaying import CaseOutcome

_SLOWER = 4  # factor by which the race check slows a run down


def wrong_on_named_numbers(
    reference: Reference, candidate: ReplayableCode, numbers: Sequence[float], outcomes: dict[str, str]
) -> Mismatch | None:
    """What is wrong with a candidate on inputs that consist of these numbers; None if nothing is. outcomes: receives the
    outcome of each case. All cases run in the usual order; on the software device, they run under the race check.
    """
    tried = reference.with_numbers(tuple(numbers)) if numbers else []
    outcomes |= {one.name: "dropped: the baseline itself fails on it" for one in tried if one.outcome.failure}
    usable = [one for one in tried if not one.outcome.failure]
    if not usable:
        return None
    known = [race for one in usable for race in one.outcome.races]
    with tempfile.TemporaryDirectory(dir=reference.folder) as folder:
        seconds = _SLOWER * patience(reference, len(usable))
        replayed = reference.replay([one.case for one in usable], Path(folder), candidate, seconds=seconds)
        for one, outcome in zip(usable, replayed, strict=True):
            complaint = compared(reference, one, outcome) or _race(reference, known, outcome)
            if complaint and (why := reference.why_unfit(one, outcome)):
                outcomes[one.name] = why
                continue
            outcomes[one.name] = "differs" if complaint else "equal"
            if complaint:
                return Mismatch(f"on {one.name}: {complaint.reason}", complaint.difference, one.name)
    return None


def _race(reference: Reference, known: Sequence[str], outcome: CaseOutcome) -> Mismatch | None:
    races = without_unwritten_reads(reference.races_that_matter(outcome.races))
    race = new_race(known, races, reference.capture, reference.arguments.buffers)
    return Mismatch(f"it races: {race}") if race else None
