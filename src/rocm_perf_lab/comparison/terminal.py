"""The comparison as text: the answer first, then what changed in each kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from rocm_perf_lab.analysis.counters_behind_changes import EXPLANATORY
from rocm_perf_lab.comparison.compare_document import (
    ChangeSection,
    CompareDocument,
    ComparisonSection,
    KernelSection,
    SideSection,
)
from rocm_perf_lab.comparison.exact_change import counter_changes
from rocm_perf_lab.comparison.metrics import TIME
from rocm_perf_lab.comparison.words import change_in_words, interval, other_changes, percent, value
from rocm_perf_lab.report.terminal_paragraphs import heading, labelled, say
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.text.names import KernelNames

_MAX_KERNELS, _MAX_COUNTERS = 10, 4
_NOTICED = 0.01  # smaller changes in counters are counted but not shown
_STATES = {"more": "slower", "less": "faster", "same": "as before", "undecided": "undecided"}


def render(document: CompareDocument, console: Console, everything: bool) -> None:
    """everything: whether to show all kernels and counters, not only the most important ones."""
    for number, comparison in enumerate(document.comparisons):
        if number:
            console.print()
        _render(document.base, comparison, console, everything)


def _render(base: SideSection, comparison: ComparisonSection, console: Console, everything: bool) -> None:
    new = comparison.new
    say(console, f"{_side_title(base)} -> {_side_title(new)} on {new.gpu} ({new.target}), times {new.timing}", indent=0)
    for change in comparison.program:
        if change.base is not None or change.new is not None:
            labelled(console, {"kernel_time": "Kernels", "span": "Span"}[change.metric], _program(change))
    for limit in comparison.limits:
        labelled(console, "Limit", f"{limit.limit} is {'EXCEEDED' if limit.exceeded else 'kept'}")
        for line in limit.by:
            say(console, f"- {line}", indent=10)
        for line in limit.undecided:
            say(console, f"- undecided: {line}", indent=10)
    own = [kernel for kernel in comparison.kernels if everything or not kernel.is_runtime] or comparison.kernels
    shown = own if everything else own[:_MAX_KERNELS]
    names = KernelNames([kernel.kernel for kernel in comparison.kernels] + comparison.gone + comparison.added)
    _times(shown, names, console)
    if len(own) > len(shown):
        say(console, f"{len(own) - len(shown)} kernels with less time are left out (-v shows all)")
    _details(shown, names, console, everything)
    for label, kernels in (("gone", comparison.gone), ("new", comparison.added)):
        if kernels:
            say(console, f"{label}: {', '.join(map(names.prose, kernels))}")
    if comparison.notes:
        heading(console, "Notes")
    for note in comparison.notes:
        say(console, f"- {note}")


def _side_title(side: SideSection) -> str:
    return f"{side.path} ({side.runs} {'run' if side.runs == 1 else 'runs'})"


def _program(change: ChangeSection) -> str:
    text = f"{value(change.base, change.unit)} -> {value(change.new, change.unit)}, {percent(change.change)}"
    return f"{text} ({interval(change)})" if change.interval else text


def _times(kernels: Sequence[KernelSection], names: KernelNames, console: Console) -> None:
    rows = [(kernel, _change_of(kernel, TIME)) for kernel in kernels]
    if not rows:
        return
    console.print()
    with_interval = any(time.interval for _, time in rows)
    table = Table("kernel", "before", "after", "change", *(["certain"] if with_interval else []), "result")
    for kernel, time in rows:
        certain = [interval(time)] if with_interval else []
        state = _STATES[time.verdict] if time.base is not None else "no times"
        cells = value(time.base, "ns"), value(time.new, "ns"), percent(time.change), *certain, state
        table.add_row(names.cell(kernel.kernel), *cells)
    table.show(console)


def _details(kernels: Sequence[KernelSection], names: KernelNames, console: Console, everything: bool) -> None:
    """What else changed."""
    lines = [(kernel, list(_change_lines(kernel, everything))) for kernel in kernels]
    if any(parts for _, parts in lines):
        heading(console, "What else changed")
    for kernel, parts in lines:
        if parts:
            say(console, f"- {names.prose(kernel.kernel)}: {', '.join(parts)}")


def _change_lines(kernel: KernelSection, everything: bool) -> Iterator[str]:
    yield from other_changes(kernel)
    changed = [change for change in counter_changes(kernel) if change.verdict != "same"]
    shown = changed if everything else _explanatory(changed)[:_MAX_COUNTERS]
    yield from map(change_in_words, shown)
    if len(changed) > len(shown):
        left = len(changed) - len(shown)
        yield f"{left} {'more' if shown else 'less important'} counters (-v)"


def _explanatory(changed: Sequence[ChangeSection]) -> list[ChangeSection]:
    """The counters that help to explain times, starting with the largest change."""
    telling = [
        change
        for change in changed
        if change.metric in EXPLANATORY and (change.change is None or abs(change.change) >= _NOTICED)
    ]
    return sorted(telling, key=lambda change: -abs(change.change if change.change is not None else float("inf")))


def _change_of(kernel: KernelSection, metric: str) -> ChangeSection:
    return next(change for change in kernel.changes if change.metric == metric)
