"""The terminal report on the ranks of a parallel program: which ranks are slow, and which kernels are unevenly distributed."""

from __future__ import annotations

from rich.console import Console

from rocm_perf_lab.report.schema import RankSummary, SummaryDocument
from rocm_perf_lab.report.terminal_paragraphs import heading, say
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, NameCell

_MAX_SHOWN = 16


def render_ranks(summary: SummaryDocument, console: Console) -> None:
    """Print a table of the ranks and a table of the kernels."""
    say(console, f"{len(summary.ranks)} ranks", style="bold", indent=0)
    names = KernelNames(
        [kernel.kernel for kernel in summary.kernels] + [r.dominant_symbol for r in summary.ranks if r.dominant_symbol]
    )
    table = Table("rank", "host", "pid", "span", "in kernels", "dispatches", "dominant kernel", "of path")
    for index, rank in _slowest_first(summary)[:_MAX_SHOWN]:
        table.add_row(
            str(rank.rank if rank.rank is not None else index),
            NameCell(rank.host),
            str(rank.pid),
            quantities.milliseconds(rank.span_ms),
            quantities.milliseconds(rank.kernel_time_ms),
            str(rank.dispatches),
            names.cell(rank.dominant_symbol) if rank.dominant_symbol else quantities.UNKNOWN,
            quantities.percent(rank.fraction),
        )
    table.show(console)
    _say_how_many_more(len(summary.ranks), console)
    heading(console, "Kernels over all ranks")
    table = Table("kernel", "total", "least", "most", "most / mean", "dispatches", "ranks")
    for kernel in summary.kernels[:_MAX_SHOWN]:
        imbalance = quantities.UNKNOWN if kernel.imbalance is None else f"{kernel.imbalance:.2f}"
        shown = [quantities.milliseconds(ms) for ms in (kernel.total_ms, kernel.min_ms, kernel.max_ms)]
        table.add_row(names.cell(kernel.kernel), *shown, imbalance, str(kernel.dispatches), str(kernel.ranks))
    table.show(console)
    _say_how_many_more(len(summary.kernels), console)
    for text in summary.notes:
        say(console, f"- {text}.")
    heading(console, "The slowest rank" if summary.slowest_rank is not None else "The first rank")


def _slowest_first(summary: SummaryDocument) -> list[tuple[int, RankSummary]]:
    return sorted(enumerate(summary.ranks), key=lambda item: (-(item[1].span_ms or 0.0), item[0]))


def _say_how_many_more(count: int, console: Console) -> None:
    if count > _MAX_SHOWN:
        say(console, f"{count - _MAX_SHOWN} more in summary.json.")
