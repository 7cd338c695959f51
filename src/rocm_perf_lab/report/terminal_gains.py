"""A table of how much the program and its kernels would gain from removing each cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.report.dag_schema import ProgramGainSection
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import RemedySection
from rocm_perf_lab.report.terminal_paragraphs import say
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, NameCell

if TYPE_CHECKING:
    from rich.console import Console

_MAX_SHOWN = 6


def render_gains(documents: CoreDocuments, names: KernelNames, console: Console) -> None:
    """Print the table; without experiments, print nothing."""
    gains = documents.dag.program_gains
    if not gains:
        return
    remedies = {
        (kernel.kernel, remedy.cause): remedy for kernel in documents.analysis.kernels for remedy in kernel.bottleneck.remedies
    }
    say(console, "Gain from removing one cause, by experiments, with the critical path recomputed:")
    table = Table("without", "kernel", "of its time", "of the program's", "then dominates")
    for gain in gains[:_MAX_SHOWN]:
        _rows(gain, remedies, names, table)
    table.show(console)


def _rows(gain: ProgramGainSection, remedies: dict[tuple[str, str], RemedySection], names: KernelNames, table: Table) -> None:
    """Add one row per kernel and, if there are several kernels, one for all of them together."""
    for kernel in gain.kernels:
        remedy = remedies[kernel, gain.cause]
        then = names.cell(remedy.then_dominant) if remedy.then_dominant else quantities.UNKNOWN
        table.add_row(
            NameCell(gain.cause),
            names.cell(kernel),
            quantities.percent(remedy.gain),
            quantities.percent(remedy.program_gain),
            then,
        )
    if len(gain.kernels) > 1:
        then = names.cell(gain.dominant_symbol) if gain.dominant_symbol else quantities.UNKNOWN
        table.add_row(NameCell(gain.cause), "all of these", "", quantities.percent(gain.gain), then)
