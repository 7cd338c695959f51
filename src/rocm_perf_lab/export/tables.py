"""Tables of a run: its kernels and dispatches as CSV, and its kernels as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.extras import missing_extra
from rocm_perf_lab.report.dispatch_table import TYPES, Column, DispatchTable
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.escaping import markdown
from rocm_perf_lab.text.names import short_name
from rocm_perf_lab.text.quantities import percent

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS: dict[str, tuple[str, Callable[[KernelAnalysis], Any]]] = {
    "kernel": ("string", lambda kernel: kernel.kernel),
    "symbol": ("string", lambda kernel: kernel.symbol),
    "dispatches": ("int64", lambda kernel: kernel.dispatches),
    "time_ms": ("float64", lambda kernel: kernel.time_ms),
    "mean_ns": ("float64", lambda kernel: kernel.durations and kernel.durations.mean_ns),
    "min_ns": ("int64", lambda kernel: kernel.durations and kernel.durations.min_ns),
    "median_ns": ("float64", lambda kernel: kernel.durations and kernel.durations.median_ns),
    "p95_ns": ("float64", lambda kernel: kernel.durations and kernel.durations.p95_ns),
    "max_ns": ("int64", lambda kernel: kernel.durations and kernel.durations.max_ns),
    "path_fraction": ("float64", lambda kernel: kernel.critical_path_score),
    "bottleneck": ("string", lambda kernel: kernel.bottleneck.name),
    "certainty": ("string", lambda kernel: kernel.bottleneck.certainty),
    "headroom_fraction": ("float64", lambda kernel: kernel.headroom.fraction),
    "program_speedup": ("float64", lambda kernel: kernel.headroom.program_speedup),
    "operational_intensity": ("float64", lambda kernel: kernel.operational_intensity),
    "vgpr_per_thread": ("int64", lambda kernel: kernel.resources.vgpr_per_thread),
    "accum_vgpr_per_thread": ("int64", lambda kernel: kernel.resources.accum_vgpr_per_thread),
    "sgpr_per_wave": ("int64", lambda kernel: kernel.resources.sgpr_per_wave),
    "lds_bytes": ("int64", lambda kernel: kernel.resources.lds_bytes),
    "scratch_bytes": ("int64", lambda kernel: kernel.resources.scratch_bytes),
    "resident_waves_per_cu": ("int64", lambda kernel: kernel.occupancy.resident_waves_per_cu),
    "workgroup": ("string", lambda kernel: "x".join(map(str, kernel.workgroup))),
    "grid": ("string", lambda kernel: "x".join(map(str, kernel.grid))),
}


def kernels_table(reports: CoreDocuments) -> pa.Table:
    """One row per kernel, longest time first. Unknown values are null. Column names include units; fractions are from 0 to 1.

    Raises UnavailableError without pyarrow.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise missing_extra("an Arrow table needs the Python package pyarrow", "parquet") from error
    kernels = reports.analysis.kernels
    return pa.table({name: pa.array(map(value, kernels), kind) for name, (kind, value) in _COLUMNS.items()})


def write_kernels(reports: CoreDocuments, path: Path) -> None:
    """Write kernels.csv, with the rows of kernels_table()."""
    values = [value for _, value in _COLUMNS.values()]
    with _csv(path, _COLUMNS) as write:
        write([value(kernel) for value in values] for kernel in reports.analysis.kernels)


def write_dispatches(table: DispatchTable, path: Path) -> None:
    """Write dispatches.csv, with the rows of dispatches.parquet."""
    with _csv(path, TYPES) as write:
        for rows, piece in table.pieces():
            write(zip(*(_cells(column, rows) for column in piece.values()), strict=True))


@contextmanager
def _csv(path: Path, header: Iterable[str]) -> Iterator[Callable[[Iterable[Iterable[Any]]], None]]:
    """Yields a function that writes rows; None becomes an empty cell."""
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        yield writer.writerows


def _cells(column: Column | None, rows: int) -> Iterable[Any]:
    if column is None:
        return repeat(None, rows)
    cells: list[Any] = column.values.tolist()
    if column.texts is not None:
        cells = [column.texts[cell] for cell in cells]
    elif column.values.dtype == bool:
        cells = ["true" if cell else "false" for cell in cells]
    if column.unknown is not None:
        cells = [None if unknown else cell for cell, unknown in zip(cells, column.unknown.tolist(), strict=True)]
    return cells


def kernels_markdown(reports: CoreDocuments) -> str:
    """A heading, the GPU and how times were obtained, and a table of the kernels."""
    profile, dag = reports.profile, reports.dag
    how = "modelled; no GPU ran this" if profile.timing == "modelled" else "measured"
    rows = [
        "| Kernel | Dispatches | Time | Of critical path | Bottleneck | Highest program speed-up |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for kernel in reports.analysis.kernels:
        cells = (
            short_name(kernel.kernel), f"{kernel.dispatches:,}", quantities.milliseconds(kernel.time_ms),
            percent(kernel.critical_path_score), f"{kernel.bottleneck.name} ({kernel.bottleneck.certainty} certainty)",
            quantities.times(kernel.headroom.program_speedup),
        )  # fmt: skip
        rows.append("| " + " | ".join(map(markdown, cells)) + " |")
    lines = [
        f"### {markdown(profile.run.command)}",
        "",
        f"{markdown(profile.gpu.product)} ({profile.gpu.target}), times {how}. Time in kernels: "
        f"{quantities.milliseconds(profile.runtime_ms)}; critical path: {quantities.duration(dag.critical_path_ns)}.",
        "",
        *rows,
    ]
    return "\n".join(lines) + "\n"
