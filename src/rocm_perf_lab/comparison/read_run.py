"""Reads a side of a comparison: a run directory, databases, a capture, or a folder with several runs of one build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.base_run import read_base_run
from rocm_perf_lab.analysis.counters import counters_by_symbol
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.comparison.facts import KernelFacts, Side
from rocm_perf_lab.comparison.run_durations import durations_in
from rocm_perf_lab.errors import MissingInputError, UsageError
from rocm_perf_lab.importing.formats import Imports
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.profiling.single_rank import only_rank
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.read_run_directory import is_run_directory, reports_in
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess
from rocm_perf_lab.run_directory import TRACE_FOLDER

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers
    from rocm_perf_lab.rocpd.trace import Trace

_CAPTURE = "dispatch.json"
_ACCEPTED_RUNS = "a run directory, a rocpd .db file, a capture"
_NO_DATABASE = "the run directory no longer has a database"
_ALIKE = ("target", "timing", "timing_parameters")  # what all runs of a side must have in common


def read_side(path: Path) -> Side:
    """Read one side. Raises MissingInputError, TraceError, UsageError or CaptureError."""
    if not path.exists():
        raise MissingInputError(f"there is no run {path}", f"name {_ACCEPTED_RUNS}, or a folder of them")
    sides = list(_sides(path))
    if not sides:
        with Imports(lambda _: None) as imports:
            sides = [_of_databases(imports.databases(path))]
    return replace(_together(sides), label=str(path))


def _sides(path: Path) -> Iterator[Side]:
    """The sides found at a path; none if it is a folder without runs of this tool, captures or databases."""
    if not path.is_dir():
        with Imports(lambda _: None) as imports:
            yield _of_databases(imports.databases(path))
    elif is_run_directory(path):
        yield _of_run_directory(path)
    elif (path / _CAPTURE).is_file():
        yield _of_capture(path)
    elif databases := sorted(database for database in path.rglob("*.db") if TRACE_FOLDER not in database.parts):
        yield _of_databases(databases)
    else:
        for entry in sorted(path.iterdir()):
            # `isolate` makes a link to the newest capture, which must not be read twice.
            if entry.is_dir() and not entry.is_symlink() and (is_run_directory(entry) or (entry / _CAPTURE).is_file()):
                yield from _sides(entry)


def _together(sides: Sequence[Side]) -> Side:
    """Combine runs of one build into one side. Figures that do not vary from run to run are taken from the first run."""
    first = sides[0]
    for other in sides[1:]:
        for name in _ALIKE:
            if getattr(first, name) != getattr(other, name):
                label = name.replace("_", " ")
                problem = f"{first.label} and {other.label} are not runs of one build: their {label} differs"
                raise UsageError(problem, "keep the runs of each build in a folder of its own")
    kernels = dict(first.kernels)
    for other in sides[1:]:
        for symbol, kernel in other.kernels.items():
            before = kernels.get(symbol)
            kernels[symbol] = replace(before, durations=[*before.durations, *kernel.durations]) if before else kernel
    spans = [span for side in sides for span in side.spans_ns]
    return replace(first, runs=sum(side.runs for side in sides), spans_ns=spans, kernels=kernels)


def _of_run_directory(path: Path) -> Side:
    reports = reports_in(path)
    databases = sorted((path / TRACE_FOLDER).rglob("*.db"))
    if databases:
        rank = only_rank(databases)
        return _of_reports(str(path), reports, _read_traces([rank.base, *rank.repeats]), _read_traces(rank.counters))
    durations, why_not = durations_in(path)
    return _of_reports(str(path), reports, [], [], durations=durations, why_no_durations=why_not)


def _of_databases(paths: Sequence[Path]) -> Side:
    rank = only_rank(paths)
    base = read_base_run(rank.base)
    return _of_reports(
        str(paths[0]), analyse(base, (), rank.counters), [base.trace, *_read_traces(rank.repeats)], _read_traces(rank.counters)
    )


def _read_traces(processes: Sequence[RecordedProcess]) -> list[Trace]:
    return [read_trace(process.path, process.suffix) for process in processes]


def _of_reports(
    label: str,
    reports: CoreDocuments,
    runs: Sequence[Trace],
    passes: Sequence[Trace],
    durations: Mapping[str, Sequence[Integers]] | None = None,
    why_no_durations: str | None = None,
) -> Side:
    """durations: if there is no trace, how long each kernel's dispatches took, by its demangled name. If these are missing,
    the kernel's total time takes their place.
    """
    profile = reports.profile
    by_symbol = _durations(runs)
    counters = counters_by_symbol(runs[0], passes) if runs else {}
    runtime = {symbol.kernel for symbol in reports.dag.symbols if symbol.kind == "runtime kernel"}
    on_path = {symbol.kernel: symbol.critical_path_ns for symbol in reports.dag.symbols}
    missing = {} if runs else {"counters": _NO_DATABASE}
    if why_no_durations is not None:
        missing["times of single dispatches"] = why_no_durations
    kernels = {}
    for kernel in reports.analysis.kernels:
        times = by_symbol.get(kernel.symbol, []) if durations is None else durations.get(kernel.kernel, [])
        if why_no_durations is not None and kernel.time_ms is not None:
            times = [np.array([round(kernel.time_ms * 1e6)])]
        kernels[kernel.symbol] = KernelFacts(
            name=kernel.kernel,
            symbol=kernel.symbol,
            is_runtime=kernel.kernel in runtime,
            dispatches=kernel.dispatches,
            workgroup=kernel.workgroup,
            grid=kernel.grid,
            durations=times if kernel.time_ms is not None else [],
            resources=kernel.resources,
            path_ns=on_path.get(kernel.kernel),
            waves_per_cu=kernel.occupancy.resident_waves_per_cu,
            bottleneck=kernel.bottleneck.name,
            counters=dict(counted.values) if (counted := counters.get(kernel.symbol)) else {},
        )
    return Side(
        label=label,
        command=profile.run.command,
        target=profile.gpu.target,
        product=profile.gpu.product,
        timing=profile.timing,
        timing_parameters=profile.timing_parameters,
        runs=max(1, len(runs)),
        spans_ns=[_span(run) for run in runs if run.has_times] if runs else _recorded_span(reports),
        kernels=kernels,
        what_is_missing=missing,
    )


def _durations(runs: Sequence[Trace]) -> dict[str, list[Integers]]:
    by_symbol: dict[str, list[Integers]] = {}
    for run in runs:
        if not run.has_times:
            continue
        took = run.dispatches.end.astype(np.int64) - run.dispatches.start
        for symbol in symbols_of(run):
            by_symbol.setdefault(symbol.kernel.symbol, []).append(took[symbol.rows])
    return by_symbol


def _span(run: Trace) -> float:
    tables = [table for table in (run.dispatches, run.copies) if len(table)]
    return float(max(int(table.end.max()) for table in tables) - min(int(table.start.min()) for table in tables))


def _recorded_span(reports: CoreDocuments) -> list[float]:
    length = reports.dag.critical_path_ns  # the path runs from the first start to the last end
    return [] if length is None else [float(length)]


def _of_capture(path: Path) -> Side:
    from rocm_perf_lab.code_object import parse
    from rocm_perf_lab.isolate import Capture
    from rocm_perf_lab.report.schema import Resources

    capture = Capture.open(path)
    packet, origin, agent = (capture.dispatch[name] for name in ("packet", "origin", "agent"))
    metadata = parse(capture.code_object.read_bytes()).kernels[capture.symbol]
    kernel = KernelFacts(
        name=capture.kernel,
        symbol=capture.symbol,
        is_runtime=False,
        dispatches=1,
        workgroup=tuple(packet["workgroup"]),
        grid=tuple(packet["grid"]),
        durations=[np.array([capture.gpu_time_ns])],
        resources=Resources(
            vgpr_per_thread=metadata.vgprs - metadata.agprs,
            accum_vgpr_per_thread=metadata.agprs,
            sgpr_per_wave=metadata.sgprs,
            lds_bytes=packet["group_segment_size"],
            scratch_bytes=packet["private_segment_size"],
        ),
        code=metadata.code,
    )
    capture_only = "a capture holds one dispatch, without counters"
    return Side(
        label=str(path),
        command=" ".join(origin["command"]),
        target=agent["name"],
        product=agent["product"],
        timing=origin["timing"],
        timing_parameters=None,
        runs=1,
        spans_ns=[],
        kernels={capture.symbol: kernel},
        what_is_missing=dict.fromkeys(("span", "critical path", "occupancy", "bottleneck", "counters"), capture_only),
    )
