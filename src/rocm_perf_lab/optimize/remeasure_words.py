"""Formats the result of remeasuring a run as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.optimize.remeasure_document import RemeasureDocument, RemeasuredSection


def described(found: RemeasureDocument) -> Iterator[str]:
    for change in found.changes:
        yield f"Iteration {change.iteration}: {change.description} in {change.kernel}"
        yield f"  kernel   {_both(change.predicted, change.recorded, found)}{_interval(change)}"
        yield f"  program  {_both(change.predicted_program, change.recorded_program, found)}"
        if change.complaint is not None:
            yield f"  {change.complaint}"
    times = "once" if found.rounds == 1 else f"{found.rounds} times, interleaved"
    yield f"On {found.device}, {found.timing}, each program {times}; recorded in {found.run}"
    if found.table is not None and found.error_for_differences is not None:
        error = found.error_for_differences
        yield f"Added to {found.table}: the model's differences are off by up to {error:.0%} in four of five cases"
    elif found.timing == "modelled":
        yield "MODELLED: no GPU ran this, so the table of the model's error stays as it is"


def _both(predicted: float | None, recorded: float | None, found: RemeasureDocument) -> str:
    return f"{_saved(predicted)} {found.predicted_timing} by the run, {_saved(recorded)} {found.timing} now"


def _saved(ratio: float | None) -> str:
    if ratio is None:
        return "unknown"
    return f"{1 - ratio:.1%} saved" if ratio <= 1 else f"{ratio - 1:.1%} slower"


def _interval(change: RemeasuredSection) -> str:
    if change.interval is None or change.interval[0] == change.interval[1]:
        return ""
    low, high = change.interval
    return f" ({1 - high:.1%} to {1 - low:.1%})"
