"""A kernel's time as a sum of what causes cost it, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from rocm_perf_lab.analysis.thread_trace.time_stack import meanings
from rocm_perf_lab.report.explain_document import CaptureExplanation
from rocm_perf_lab.report.layout import labelled, say
from rocm_perf_lab.report.thread_trace_schema import StackPart, TimeStackSection
from rocm_perf_lab.text import words

_LEAST = 0.01  # of the time, for a part to be shown
_MOST_LINES = 3
_MOST_NAMED = 3
_LEAST_NAMED = 0.05


def render_stack(stack: TimeStackSection, console: Console) -> None:
    """A line for each part, with what comes near to taking it away, and the accesses that cost most."""
    label = "Time"
    for text in lines(stack):
        labelled(console, label, text)
        label = ""
    label = "Access"
    for one in stack.instructions[:_MOST_LINES]:
        if one.gain_ns < _LEAST * stack.duration_ns:
            break
        place = f"{one.source}, `{one.isa}`" if one.source else f"`{one.isa}`"
        labelled(console, label, f"{place}: without it {_shorter(stack.duration_ns, one.gain_ns)}")
        label = ""


def render_capture(one: CaptureExplanation, console: Console) -> None:
    """The stack of a captured dispatch, beside the time that was recorded."""
    stack = one.time_stack
    say(console, one.kernel, "bold", indent=0)
    labelled(console, "Took", f"{words.duration(one.recorded_ns)} when it was captured, {one.recorded_timing}")
    labelled(console, "Replay", f"{words.duration(stack.duration_ns)} from cold caches, modelled{_compared(one)}")
    render_stack(stack, console)


def _compared(one: CaptureExplanation) -> str:
    if one.recorded_timing == "modelled":
        return ""
    if one.model_within is None:
        return "; how wrong the model is for such kernels is not known"
    error = f"±{words.percent(one.model_within)} (four of five recorded times)"
    if one.beyond_error:
        return f": more apart than the model's error for such kernels, {error}; do not rely on what follows"
    return f"; the model's error for such kernels is {error}"


def lines(stack: TimeStackSection) -> Iterator[str]:
    """One for each part of at least a hundredth of the time, and one for the rest, which includes smaller parts."""
    shown = [part for part in stack.parts if part.share >= _LEAST]
    for part in shown:
        change = f"; {meanings()[part.name].change}" if part.name in meanings() else ""
        yield f"{words.percent(part.share)} on {part.spent_on} ({part.name}): {_range(stack, part)}{change}"
    rest = 1 - sum(part.share for part in shown)
    whole = words.duration(stack.duration_ns)
    yield f"{words.percent(rest)} on the rest of {whole}; all of it modelled, in experiments of the software device"


def in_short(stack: TimeStackSection) -> str:
    """The largest parts in one line; '' if there is none."""
    named = [part for part in stack.parts if part.share >= _LEAST_NAMED][:_MOST_NAMED]
    return ", ".join(f"{words.percent(part.share)} on {part.spent_on}" for part in named)


def _range(stack: TimeStackSection, part: StackPart) -> str:
    """What is gained if it is taken away first, and if it is the last."""
    last = words.percent(part.last_ns / stack.duration_ns)
    return f"without it {_shorter(stack.duration_ns, part.first_ns)}, after all others {last}"


def _shorter(duration_ns: int, gain_ns: int) -> str:
    return f"{words.percent(gain_ns / duration_ns)} less time"
