"""Prints a kernel's time as a sum of costs, one for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from rocm_perf_lab.analysis.thread_trace.time_stack import meanings
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.report.explain_document import CaptureExplanation
from rocm_perf_lab.report.paragraphs import labelled, say
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.report.thread_trace_schema import LineGain, StackPart, TimeStackSection
from rocm_perf_lab.text import words

_LEAST = 0.01  # smaller shares of the time are not shown
_MOST_LINES = 3
_MOST_NAMED = 3
_LEAST_NAMED = 0.05
_WITHOUT = {
    "memory-latency": "if its loads took no latency",
    "uncoalesced": "if its accesses were coalesced",
    "bank-conflicts": "without its bank conflicts",
    "atomics": "if its atomics did not wait for each other",
    "beyond-l2": "if the L2s had its data",
    "barriers": "without waiting at its barrier",
    "divergence": "if masked-off lanes took no time there",
    "vector-issue": "without its vector instructions",
    "matrix-issue": "without its matrix instructions",
    "scalar-issue": "without its scalar instructions",
}


def render_stack(stack: TimeStackSection, console: Console, with_changes: bool = True) -> None:
    """Print a line for each part, and the source lines and accesses that cost the most. with_changes: whether to add, for each
    part, the change that comes close to removing it.
    """
    label = "Time"
    for text in lines(stack, with_changes):
        labelled(console, label, text)
        label = ""
    label = "Line"
    for line in stack.lines[:_MOST_LINES]:
        if line.gain_ns >= _LEAST * stack.duration_ns:
            labelled(console, label, line_in_words(stack, line))
            label = ""
    label = "Access"
    for one in stack.instructions[:_MOST_LINES]:
        if one.gain_ns < _LEAST * stack.duration_ns:
            break
        place = f"{one.source}, `{one.isa}`" if one.source else f"`{one.isa}`"
        labelled(console, label, f"{place}: without it {_shorter(stack.duration_ns, one.gain_ns)}")
        label = ""


def render_capture(one: CaptureExplanation, console: Console) -> None:
    """Print the stack of a captured dispatch, with the recorded time."""
    stack = one.time_stack
    say(console, one.kernel, "bold", indent=0)
    labelled(console, "Took", f"{words.duration(one.recorded_ns)} when it was captured, {one.recorded_timing}")
    labelled(console, "Replay", f"{words.duration(stack.duration_ns)} from cold caches, modelled{_compared(one)}")
    render_stack(stack, console)


def _compared(one: CaptureExplanation) -> str:
    if one.recorded_timing == "modelled" or not one.recorded_ns:
        return ""
    ratio = one.time_stack.duration_ns / one.recorded_ns
    apart = f": {words.percent(abs(ratio - 1))} {'longer' if ratio >= 1 else 'shorter'} than recorded"
    if one.model_within is None:
        return f"{apart}; the model's error for such kernels is not known"
    error = f"±{words.percent(one.model_within)} (four of five recorded times)"
    if one.beyond_error:
        return f"{apart}, more than the model's error for such kernels, {error}; do not rely on what follows"
    return f"{apart}, within the model's error for such kernels, {error}"


def lines(stack: TimeStackSection, with_changes: bool = False) -> Iterator[str]:
    """One line for each part that takes at least 1 % of the time, and one for the rest, which includes the smaller parts."""
    shown = [part for part in stack.parts if part.share >= _LEAST]
    for part in shown:
        change = f"; {meanings()[part.name].change}" if with_changes and part.name in meanings() else ""
        yield f"{words.percent(part.share)} on {part.spent_on} ({part.name}): {_range(stack, part)}{change}"
    rest = 1 - sum(part.share for part in shown)
    whole = words.duration(stack.duration_ns)
    yield f"{words.percent(rest)} on the rest of {whole}; all modelled, in experiments on the software device"


def render_lines(stack: TimeStackSection, kernel: str, console: Console) -> None:
    """Print only the experiments' results for the stack's source lines."""
    say(console, f"{kernel}, {words.duration(stack.duration_ns)}", "bold", indent=0)
    for line in stack.lines:
        labelled(console, "Line", line_in_words(stack, line))


def with_line(kernels: Sequence[KernelAnalysis], wanted: str) -> list[KernelAnalysis]:
    """The kernels that execute the line, with their stacks reduced to this line. wanted: [FILE:]LINE. Raises UsageError if no
    kernel does.
    """
    stacks = [one.thread_trace.time_stack if one.thread_trace is not None else None for one in kernels]
    lines = [line for stack in stacks for line in (stack.lines if stack is not None else ())]
    if not any(_is(wanted, line.source) for line in lines):
        raise _no_line(wanted, lines)
    found = []
    for kernel, stack in zip(kernels, stacks, strict=True):
        if kernel.thread_trace is not None and stack is not None and any(_is(wanted, line.source) for line in stack.lines):
            kept = stack.model_copy(update={"lines": [line for line in stack.lines if _is(wanted, line.source)]})
            trace = kernel.thread_trace.model_copy(update={"time_stack": kept})
            found.append(kernel.model_copy(update={"thread_trace": trace}))
    return found


def only_line(stack: TimeStackSection, wanted: str) -> TimeStackSection:
    """The stack, reduced to this line. Raises UsageError if the stack does not contain it."""
    kept = [line for line in stack.lines if _is(wanted, line.source)]
    if not kept:
        raise _no_line(wanted, stack.lines)
    return stack.model_copy(update={"lines": kept})


def _is(wanted: str, source: str) -> bool:
    """Whether the line is the wanted one. wanted: LINE, or FILE:LINE, where FILE may be just the last components of the
    path.
    """
    return source == wanted or source.endswith((f":{wanted}", f"/{wanted}"))


def _no_line(wanted: str, known: Sequence[LineGain]) -> UsageError:
    if not known:
        return UsageError(
            f"no experiment was made with line {wanted}: no source lines are known",
            "compile with -g, and profile on the software device; a kernel without a thread trace has no experiments",
        )
    some = ", ".join(line.source for line in known[:_MOST_LINES])
    return UsageError(f"no experiment was made with line {wanted}", f"name one of those with most to gain, such as {some}")


def line_in_words(stack: TimeStackSection, line: LineGain) -> str:
    """The gain if the line's instructions took no time, and the gains from removing one cause at a time from them."""
    gains = sorted(line.by_cause_ns.items(), key=lambda item: -item[1])
    parts = [
        f"{_WITHOUT.get(cause, f'without {cause} there')} {_shorter(stack.duration_ns, gain)}"
        for cause, gain in gains
        if gain >= _LEAST * stack.duration_ns
    ]
    return "; ".join([f"{line.source}: without it {_shorter(stack.duration_ns, line.gain_ns)}", *parts])


def in_short(stack: TimeStackSection) -> str:
    """The largest parts, in one line; '' if there are none."""
    named = [part for part in stack.parts if part.share >= _LEAST_NAMED][:_MOST_NAMED]
    return ", ".join(f"{words.percent(part.share)} on {part.spent_on}" for part in named)


def _range(stack: TimeStackSection, part: StackPart) -> str:
    """The gain if the part is removed first, and the gain if it is removed last."""
    last = words.percent(part.last_ns / stack.duration_ns)
    return f"without it {_shorter(stack.duration_ns, part.first_ns)}, after all others {last}"


def _shorter(duration_ns: int, gain_ns: int) -> str:
    return f"{words.percent(gain_ns / duration_ns)} less time"
