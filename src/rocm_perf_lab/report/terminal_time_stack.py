"""Prints a kernel's time as a sum of costs, one for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from rocm_perf_lab.analysis.thread_trace.time_stack import meanings
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.report.explain_document import CaptureExplanation
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.report.terminal_paragraphs import labelled, say
from rocm_perf_lab.report.thread_trace_schema import LineGain, StackPart, TimeStackSection
from rocm_perf_lab.text import quantities

_MIN_SHOWN_SHARE = 0.01  # smaller shares of the time are not shown
_MAX_LINES = 3
_MAX_NAMED = 3
_MIN_NAMED_SHARE = 0.05
_GAIN_WORDS = {
    "memory-latency": "if its loads had no latency",
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
    for line in stack.lines[:_MAX_LINES]:
        if line.gain_ns >= _MIN_SHOWN_SHARE * stack.duration_ns:
            labelled(console, label, line_in_words(stack, line))
            label = ""
    label = "Access"
    for instruction in stack.instructions[:_MAX_LINES]:
        if instruction.gain_ns < _MIN_SHOWN_SHARE * stack.duration_ns:
            break
        access = f"{instruction.source}, `{instruction.isa}`" if instruction.source else f"`{instruction.isa}`"
        labelled(console, label, f"{access}: without it {_shorter(stack.duration_ns, instruction.gain_ns)}")
        label = ""


def render_capture(capture: CaptureExplanation, console: Console) -> None:
    """Print the stack of a captured dispatch, with the recorded time."""
    stack = capture.time_stack
    say(console, capture.kernel, "bold", indent=0)
    labelled(console, "Took", f"{quantities.duration(capture.recorded_ns)} when it was captured, {capture.recorded_timing}")
    labelled(console, "Replay", f"{quantities.duration(stack.duration_ns)} from cold caches, modelled{_compared(capture)}")
    render_stack(stack, console)


def _compared(capture: CaptureExplanation) -> str:
    if capture.recorded_timing == "modelled" or not capture.recorded_ns:
        return ""
    ratio = capture.time_stack.duration_ns / capture.recorded_ns
    deviation = f": {quantities.percent(abs(ratio - 1))} {'longer' if ratio >= 1 else 'shorter'} than recorded"
    if capture.model_within is None:
        return f"{deviation}; the model's error for such kernels is not known"
    error = f"±{quantities.percent(capture.model_within)} (four of five measured times)"
    if capture.beyond_error:
        return f"{deviation}, more than the model's error for such kernels, {error}; do not rely on what follows"
    return f"{deviation}, within the model's error for such kernels, {error}"


def lines(stack: TimeStackSection, with_changes: bool = False) -> Iterator[str]:
    """One line for each part that takes at least 1 % of the time, and one for the rest, which includes the smaller parts."""
    shown = [part for part in stack.parts if part.share >= _MIN_SHOWN_SHARE]
    for part in shown:
        change = f"; {meanings()[part.name].change}" if with_changes and part.name in meanings() else ""
        yield f"{quantities.percent(part.share)} on {part.spent_on} ({part.name}): {_range(stack, part)}{change}"
    rest_share = 1 - sum(part.share for part in shown)
    total = quantities.duration(stack.duration_ns)
    yield f"{quantities.percent(rest_share)} on the rest of {total}; all modelled, in experiments on the software device"


def render_lines(stack: TimeStackSection, kernel: str, console: Console) -> None:
    """Print only the experiments' results for the stack's source lines."""
    say(console, f"{kernel}, {quantities.duration(stack.duration_ns)}", "bold", indent=0)
    for line in stack.lines:
        labelled(console, "Line", line_in_words(stack, line))


def with_line(kernels: Sequence[KernelAnalysis], wanted: str) -> list[KernelAnalysis]:
    """The kernels that execute the line, with their stacks reduced to this line. wanted: [FILE:]LINE. Raises UsageError if no
    kernel does.
    """
    stacks = [kernel.thread_trace.time_stack if kernel.thread_trace is not None else None for kernel in kernels]
    lines = [line for stack in stacks for line in (stack.lines if stack is not None else ())]
    if not any(_is_line(wanted, line.source) for line in lines):
        raise _no_line(wanted, lines)
    reduced_kernels = []
    for kernel, stack in zip(kernels, stacks, strict=True):
        if kernel.thread_trace is not None and stack is not None and any(_is_line(wanted, line.source) for line in stack.lines):
            reduced_stack = stack.model_copy(update={"lines": [line for line in stack.lines if _is_line(wanted, line.source)]})
            trace = kernel.thread_trace.model_copy(update={"time_stack": reduced_stack})
            reduced_kernels.append(kernel.model_copy(update={"thread_trace": trace}))
    return reduced_kernels


def only_line(stack: TimeStackSection, wanted: str) -> TimeStackSection:
    """The stack, reduced to this line. Raises UsageError if the stack does not contain it."""
    matching = [line for line in stack.lines if _is_line(wanted, line.source)]
    if not matching:
        raise _no_line(wanted, stack.lines)
    return stack.model_copy(update={"lines": matching})


def _is_line(wanted: str, source: str) -> bool:
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
    examples = ", ".join(line.source for line in known[:_MAX_LINES])
    return UsageError(f"no experiment was made with line {wanted}", f"name one of those with most to gain, such as {examples}")


def line_in_words(stack: TimeStackSection, line: LineGain) -> str:
    """The gain if the line's instructions took no time, and the gains from removing one cause at a time from them."""
    gains = sorted(line.by_cause_ns.items(), key=lambda item: -item[1])
    parts = [
        f"{_GAIN_WORDS.get(cause, f'without {cause} there')}, {_shorter(stack.duration_ns, gain)}"
        for cause, gain in gains
        if gain >= _MIN_SHOWN_SHARE * stack.duration_ns
    ]
    return "; ".join([f"{line.source}: without it {_shorter(stack.duration_ns, line.gain_ns)}", *parts])


def in_short(stack: TimeStackSection) -> str:
    """The largest parts, in one line; '' if there are none."""
    named = [part for part in stack.parts if part.share >= _MIN_NAMED_SHARE][:_MAX_NAMED]
    return ", ".join(f"{quantities.percent(part.share)} on {part.spent_on}" for part in named)


def _range(stack: TimeStackSection, part: StackPart) -> str:
    """The gain if the part is removed first, and the gain if it is removed last."""
    last = quantities.percent(part.last_ns / stack.duration_ns)
    return f"without it {_shorter(stack.duration_ns, part.first_ns)}, after all others {last}"


def _shorter(duration_ns: int, gain_ns: int) -> str:
    return f"{quantities.percent(gain_ns / duration_ns)} less time"
