"""Formats the result of remeasuring a run as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.optimize.remeasure_document import RemeasureDocument, RemeasuredSection


def lines_of_remeasurement(document: RemeasureDocument) -> Iterator[str]:
    for change in document.changes:
        yield f"Iteration {change.iteration}: {change.description} in {change.kernel}"
        yield f"  kernel   {_predicted_and_recorded(change.predicted, change.recorded, document)}{_interval(change)}"
        yield f"  program  {_predicted_and_recorded(change.predicted_program, change.recorded_program, document)}"
        if change.complaint is not None:
            yield f"  {change.complaint}"
    times = "once" if document.rounds == 1 else f"{document.rounds} times, interleaved"
    yield f"On {document.device}, {document.timing}, each program {times}; recorded in {document.run}"
    if document.table is not None and document.error_for_differences is not None:
        error = document.error_for_differences
        yield f"Added to {document.table}: the model's differences are off by up to {error:.0%} in four of five cases"
    elif document.timing == "modelled":
        yield "MODELLED: no GPU ran this, so the table of the model's error stays as it is"


def _predicted_and_recorded(predicted: float | None, recorded: float | None, document: RemeasureDocument) -> str:
    return f"{_saved_share(predicted)} {document.predicted_timing} by the run, {_saved_share(recorded)} {document.timing} now"


def _saved_share(ratio: float | None) -> str:
    if ratio is None:
        return "unknown"
    return f"{1 - ratio:.1%} saved" if ratio <= 1 else f"{ratio - 1:.1%} slower"


def _interval(change: RemeasuredSection) -> str:
    if change.interval is None or change.interval[0] == change.interval[1]:
        return ""
    low, high = change.interval
    return f" ({1 - high:.1%} to {1 - low:.1%})"
