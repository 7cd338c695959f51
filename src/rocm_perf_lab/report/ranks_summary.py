"""Compares several ranks using only their documents, which are small, however large the traces are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import __version__
from rocm_perf_lab.analysis.ranks import Rank
from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.report import schema
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import AnalysisDocument

NO_RANK = "the launcher's environment is not in the trace"


@dataclass(frozen=True)
class RankReports:
    """folder: the folder with the rank's documents, relative to the run directory."""

    rank: Rank
    folder: str
    reports: CoreDocuments


def summary(reports_of_ranks: Sequence[RankReports], notes: Sequence[str]) -> schema.SummaryDocument:
    """The summary: the ranks in the given order, and the kernels of all ranks together."""
    ranks = [_rank(rank_reports) for rank_reports in reports_of_ranks]
    spans = [rank.span_ms for rank in ranks]
    slowest = max(range(len(ranks)), key=lambda n: (spans[n] or 0.0, -n)) if any(spans) else None
    return schema.SummaryDocument(
        tool=schema.Tool(version=__version__),
        ranks=ranks,
        slowest_rank=slowest,
        kernels=_kernels([rank_reports.reports.analysis for rank_reports in reports_of_ranks]),
        notes=list(notes),
        reasons={} if slowest is not None else {"slowest_rank": NO_TIME},
    )


def _rank(rank_reports: RankReports) -> schema.RankSummary:
    rank, profile, dag = rank_reports.rank, rank_reports.reports.profile, rank_reports.reports.dag
    span = None if dag.critical_path_ns is None else dag.critical_path_ns / 1e6
    values = {
        "rank": rank.number, "kernel_time_ms": profile.runtime_ms, "span_ms": span,
        "dominant_symbol": dag.dominant_symbol, "fraction": dag.fraction,
    }  # fmt: skip
    nulls = [name for name, value in values.items() if value is None]
    return schema.RankSummary(
        directory=rank_reports.folder,
        database=Path(rank.base.path).name,
        command=profile.run.command,
        host=profile.run.host,
        pid=profile.run.pid,
        gpu=profile.gpu.product,
        timing=profile.timing,
        dispatches=sum(kernel.dispatches for kernel in rank_reports.reports.analysis.kernels),
        reasons={name: NO_RANK if name == "rank" else NO_TIME for name in nulls},
        **values,
    )


def _kernels(documents: Sequence[AnalysisDocument]) -> list[schema.KernelOverRanks]:
    by_name: dict[str, list[schema.KernelAnalysis]] = {}
    for document in documents:
        for kernel in document.kernels:
            by_name.setdefault(kernel.kernel, []).append(kernel)
    over_ranks = [_over_ranks(name, kernels, len(documents)) for name, kernels in by_name.items()]
    return sorted(over_ranks, key=lambda kernel: (-(kernel.total_ms or 0.0), kernel.kernel))


def _over_ranks(name: str, kernels: Sequence[schema.KernelAnalysis], ranks: int) -> schema.KernelOverRanks:
    times = [kernel.time_ms for kernel in kernels if kernel.time_ms is not None]
    timed = len(times) == len(kernels)
    names = ("total_ms", "min_ms", "max_ms", "imbalance")
    values: tuple[float | None, ...]
    values = (sum(times), min(times), max(times), max(times) * ranks / sum(times)) if timed else (None,) * 4
    return schema.KernelOverRanks(
        kernel=name,
        ranks=len(kernels),
        dispatches=sum(kernel.dispatches for kernel in kernels),
        reasons={} if timed else dict.fromkeys(names, NO_TIME),
        **dict(zip(names, values, strict=True)),
    )
