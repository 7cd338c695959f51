"""What the program's time is spent on, as a section of dag.json and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.program_time_stack import ProgramStack
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings
from rocm_perf_lab.report import dag_schema
from rocm_perf_lab.report.terminal_paragraphs import say
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, NameCell

if TYPE_CHECKING:
    from rich.console import Console

_MIN_SHOWN_SHARE = 0.01  # smaller shares of the span are not shown


def program_stack_section(stack: ProgramStack) -> dag_schema.ProgramStackSection:
    reasons = {"orders": "the parts are exact", "dominant_symbol": "no kernel of the program is on that path"}
    values = {"orders": stack.orders, "dominant_symbol": stack.dominant}
    parts = [
        dag_schema.ProgramPartSection(
            name=part.cause,
            spent_on=meanings()[part.cause].spent_on if part.cause in meanings() else part.cause,
            ns=float(part.ns),
            share=float(part.ns) / stack.span_ns,
            within_ns=part.within_ns,
            first_ns=part.first_ns,
            last_ns=part.last_ns,
            kernels=list(part.kernels),
        )
        for part in stack.parts
    ]
    return dag_schema.ProgramStackSection(
        span_ns=stack.span_ns,
        parts=parts,
        rest_ns=stack.rest_ns,
        kernels_ns=stack.kernels_ns,
        copies_ns=stack.copies_ns,
        kernels=list(stack.kernels),
        causes=list(stack.causes),
        without_ns=list(stack.without_ns),
        reasons={name: why for name, why in reasons.items() if values[name] is None},
        **values,
    )


def render_program_stack(stack: dag_schema.ProgramStackSection | None, names: KernelNames, console: Console) -> None:
    """Print a row for each part that matters and rows for the rest, all summing to the span. Without a stack, print nothing."""
    if stack is None or not stack.parts:
        return
    of = ", ".join(names.cell(name) for name in stack.kernels)
    say(
        console,
        f"The program's {quantities.duration(stack.span_ns)} by cause, from experiments with {of} on the critical path:",
    )
    table = Table("cause", "of the program's time", "less without it", "after all others")
    shown = [part for part in stack.parts if part.share >= _MIN_SHOWN_SHARE]
    for part in shown:
        alone, last = (quantities.percent(ns / stack.span_ns) for ns in (part.first_ns, part.last_ns))
        table.add_row(NameCell(part.name), _share(part, stack), alone, last)
    for name, ns in rest_in_words(stack, shown):
        table.add_row(name, quantities.percent(ns / stack.span_ns), "", "")
    table.show(console)
    if stack.orders is not None:
        say(console, f"± is half of the 95 % interval, from {stack.orders} of all orders in which causes can be removed.")


def rest_in_words(
    stack: dag_schema.ProgramStackSection, shown: Sequence[dag_schema.ProgramPartSection]
) -> list[tuple[str, float]]:
    """The components of the rest, including the parts that are not shown, and the time of each in ns."""
    small = sum(part.ns for part in stack.parts) - sum(part.ns for part in shown)
    between = stack.rest_ns - stack.kernels_ns - stack.copies_ns
    components = [
        ("smaller causes", small),
        ("kernels without these causes", float(stack.kernels_ns)),
        ("copies", float(stack.copies_ns)),
        ("the host, launches and gaps", float(between)),
    ]
    return [(name, ns) for name, ns in components if round(ns)]


def _share(part: dag_schema.ProgramPartSection, stack: dag_schema.ProgramStackSection) -> str:
    if not part.within_ns:
        return quantities.percent(part.share)
    return f"{quantities.percent(part.share)} ± {quantities.percent(part.within_ns / stack.span_ns)}"
