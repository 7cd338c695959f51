"""What the graph shows in addition to its critical path: the effect of faster kernels, and what idle GPUs waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.report.dag_schema import DagDocument, IdleSection, WhatIfSection
from rocm_perf_lab.report.terminal_paragraphs import say
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, NameCell
from rocm_perf_lab.text.quantities import duration, percent

if TYPE_CHECKING:
    from rich.console import Console

IDLE_CAUSES = {
    "host": "for the host to launch",
    "copy": "for copies",
    "dependency": "for other kernels",
    "latency": "for launch and start-up",
    "unknown": "for the host or for launch and start-up (HIP calls were not traced)",
}
_MAX_GPUS = 8


def render_next_in_line(dag: DagDocument, names: KernelNames, console: Console) -> None:
    if dag.next_in_line:
        following = ", ".join(names.prose(name) for name in dag.next_in_line)
        say(console, f"No kernel dominates: the first has less than 70 % of the path. Next in line: {following}.")


def render_what_if(dag: DagDocument, names: KernelNames, console: Console) -> None:
    """Print a table of the scenarios, and the speedup at which a different kernel starts to dominate."""
    if not dag.what_if:
        return
    table = Table("if faster", "by", "GPU span", "gain", "then dominates", "with")
    for scenario in dag.what_if:
        factor = "takes no time" if scenario.factor is None else quantities.times(scenario.factor)
        then = names.cell(scenario.dominant_symbol) if scenario.dominant_symbol else NameCell("no kernel")
        span, gain = duration(scenario.span_ns), quantities.times(scenario.speedup)
        table.add_row(_kernels(scenario, names), factor, span, gain, then, percent(scenario.fraction))
    table.show(console)
    shift = dag.dominance_shift
    if shift is not None and shift.factor is not None:
        successor = names.prose(shift.then) if shift.then else "no kernel of the program"
        say(
            console,
            f"From {quantities.times(shift.factor)} faster on, {successor} dominates instead of {names.prose(shift.kernel)}.",
        )


def _kernels(scenario: WhatIfSection, names: KernelNames) -> NameCell:
    if scenario.pattern is not None:
        return NameCell(
            f"{scenario.pattern} ({len(scenario.kernels)} kernels)" if len(scenario.kernels) != 1 else scenario.pattern
        )
    return names.cell(scenario.kernels[0])


def render_idle(dag: DagDocument, console: Console) -> None:
    """Print one line per GPU, except for GPUs that always ran a kernel."""
    idle = [gpu for gpu in dag.idle if gpu.idle_ns]
    for gpu in idle[:_MAX_GPUS]:
        where = f"GPU agent {gpu.agent}" if len(dag.idle) > 1 else "The GPU"
        say(
            console,
            f"{where} ran no kernel for {duration(gpu.idle_ns)} ({percent(gpu.fraction)}){_waiting_text(gpu)}.",
        )
    if len(idle) > _MAX_GPUS:
        say(console, f"{len(idle) - _MAX_GPUS} more GPUs in dag.json.")


def _waiting_text(gpu: IdleSection) -> str:
    causes = sorted(((ns, cause) for cause, ns in gpu.by_cause_ns.items() if ns), reverse=True)
    parts = [f"{duration(ns)} {IDLE_CAUSES[cause]}" for ns, cause in causes]
    return f", waiting {', '.join(parts)}" if parts else ""
