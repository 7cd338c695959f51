"""Tables of a run: its kernels and its dispatches, as CSV; the kernels as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.report.documents import Reports
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.text import words

_COLUMNS: dict[str, tuple[pa.DataType, Callable[[KernelAnalysis], Any]]] = {
    "kernel": (pa.string(), lambda one: one.kernel),
    "symbol": (pa.string(), lambda one: one.symbol),
    "dispatches": (pa.int64(), lambda one: one.dispatches),
    "time_ms": (pa.float64(), lambda one: one.time_ms),
    "mean_ns": (pa.float64(), lambda one: one.durations and one.durations.mean_ns),
    "min_ns": (pa.int64(), lambda one: one.durations and one.durations.min_ns),
    "median_ns": (pa.float64(), lambda one: one.durations and one.durations.median_ns),
    "p95_ns": (pa.float64(), lambda one: one.durations and one.durations.p95_ns),
    "max_ns": (pa.int64(), lambda one: one.durations and one.durations.max_ns),
    "path_fraction": (pa.float64(), lambda one: one.critical_path_score),
    "bottleneck": (pa.string(), lambda one: one.bottleneck.name),
    "certainty": (pa.string(), lambda one: one.bottleneck.certainty),
    "headroom_fraction": (pa.float64(), lambda one: one.headroom.fraction),
    "program_speedup": (pa.float64(), lambda one: one.headroom.program_speedup),
    "operational_intensity": (pa.float64(), lambda one: one.operational_intensity),
    "vgpr_per_thread": (pa.int64(), lambda one: one.resources.vgpr_per_thread),
    "accum_vgpr_per_thread": (pa.int64(), lambda one: one.resources.accum_vgpr_per_thread),
    "sgpr_per_wave": (pa.int64(), lambda one: one.resources.sgpr_per_wave),
    "lds_bytes": (pa.int64(), lambda one: one.resources.lds_bytes),
    "scratch_bytes": (pa.int64(), lambda one: one.resources.scratch_bytes),
    "resident_waves_per_cu": (pa.int64(), lambda one: one.occupancy.resident_waves_per_cu),
    "workgroup": (pa.string(), lambda one: "x".join(map(str, one.workgroup))),
    "grid": (pa.string(), lambda one: "x".join(map(str, one.grid))),
}


def kernels_table(reports: Reports) -> pa.Table:
    """One row per kernel, most time first. Unknown values are null. Units are in the names; fractions are 0 to 1."""
    kernels = reports.analysis.kernels
    return pa.table({name: pa.array(map(value, kernels), kind) for name, (kind, value) in _COLUMNS.items()})


def write_csv(table: pa.Table, path: Path) -> None:
    from pyarrow import csv

    flat = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        csv.write_csv(pa.table(flat, names=table.column_names), file)


def kernels_markdown(reports: Reports) -> str:
    """A heading, where and how it ran, and a table of the kernels."""
    profile, dag = reports.profile, reports.dag
    how = "modelled; no GPU ran this" if profile.timing == "modelled" else "measured"
    rows = [
        "| Kernel | Dispatches | Time | Of critical path | Bottleneck | Program at most faster |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for kernel in reports.analysis.kernels:
        cells = (
            words.short_name(kernel.kernel), f"{kernel.dispatches:,}", words.milliseconds(kernel.time_ms),
            words.percent(kernel.critical_path_score), f"{kernel.bottleneck.name} ({kernel.bottleneck.certainty} certainty)",
            words.times(kernel.headroom.program_speedup),
        )  # fmt: skip
        rows.append("| " + " | ".join(map(words.markdown, cells)) + " |")
    lines = [
        f"### {words.markdown(profile.run.command)}",
        "",
        f"{words.markdown(profile.gpu.product)} ({profile.gpu.target}), times {how}. Time in kernels: "
        f"{words.milliseconds(profile.runtime_ms)}; critical path: {words.duration(dag.critical_path_ns)}.",
        "",
        *rows,
    ]
    return "\n".join(lines) + "\n"
