"""The ranks of a parallel program for people: who is slow, and which kernels are unevenly spread."""

from __future__ import annotations

from rich.console import Console

from rocm_perf_lab.report import words
from rocm_perf_lab.report.layout import heading, say, text_table
from rocm_perf_lab.report.schema import SummaryDocument

_MOST = 16


def render_ranks(summary: SummaryDocument, console: Console) -> None:
    """A table of the ranks and one of the kernels."""
    say(console, f"{len(summary.ranks)} ranks", style="bold", indent=0)
    table = text_table("rank", "span", "in kernels", "dispatches", "dominant kernel", "of path")
    for place, rank in _slowest_first(summary)[:_MOST]:
        table.add_row(
            f"{rank.rank if rank.rank is not None else place} ({rank.host}, pid {rank.pid})",
            words.duration(rank.span_ms * 1e6 if rank.span_ms is not None else None),
            words.duration(rank.kernel_time_ms * 1e6 if rank.kernel_time_ms is not None else None),
            str(rank.dispatches),
            words.short_name(rank.dominant_symbol or words.UNKNOWN, 36),
            words.percent(rank.fraction),
        )
    console.print(table)
    _rest(len(summary.ranks), console)
    heading(console, "Kernels over all ranks")
    table = text_table("kernel", "total", "least", "most", "most / mean", "dispatches", "ranks")
    for kernel in summary.kernels[:_MOST]:
        times = [None if value is None else value * 1e6 for value in (kernel.total_ms, kernel.min_ms, kernel.max_ms)]
        imbalance = words.UNKNOWN if kernel.imbalance is None else f"{kernel.imbalance:.2f}"
        shown = [words.duration(value) for value in times]
        table.add_row(words.short_name(kernel.kernel, 36), *shown, imbalance, str(kernel.dispatches), str(kernel.ranks))
    console.print(table)
    _rest(len(summary.kernels), console)
    for text in summary.notes:
        say(console, f"- {text}.")
    heading(console, "The slowest rank" if summary.slowest_rank is not None else "The first rank")


def _slowest_first(summary: SummaryDocument):
    return sorted(enumerate(summary.ranks), key=lambda item: (-(item[1].span_ms or 0.0), item[0]))


def _rest(count: int, console: Console) -> None:
    if count > _MOST:
        say(console, f"{count - _MOST} more in summary.json.")
