"""Turns the findings of an analysis into its documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import numpy as np

from rocm_perf_lab import __version__
from rocm_perf_lab.analysis.critical_path import CriticalPath, SymbolOnPath
from rocm_perf_lab.analysis.dag import CALL, COPY, KERNEL, Dag
from rocm_perf_lab.analysis.device import Device
from rocm_perf_lab.analysis.kernel import KernelFindings
from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.analysis.selection import Selection
from rocm_perf_lab.analysis.stability import Stability
from rocm_perf_lab.analysis.symbols import is_runtime_kernel
from rocm_perf_lab.analysis.thread_trace.kernels import TracedKernels
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.report import schema, sections
from rocm_perf_lab.report.dispatch_table import DispatchTable
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.thread_trace import thread_trace_section
from rocm_perf_lab.rocpd.tables import Edges, Trace

INFERRED_NOTE = (
    "dependencies are inferred from order within queues and streams: events between streams and waits of the host are not in "
    "the trace, so the path can be longer and slack smaller than shown"
)
INFERRED_WITH_CALLS_NOTE = (
    "dependencies are inferred from order within queues and streams, and from the HIP calls: waits of host threads for each "
    "other are not in the trace"
)
_OF_CALLS = ("launch", "event", "wait", "program")
ONE_RUN = "one run: a spread needs at least two"


@dataclass(frozen=True)
class Findings:
    """What an analysis found. device: of the selected dispatch. stability, path: None if the trace has no GPU times."""

    trace: Trace
    selection: Selection
    device: Device
    stability: Stability | None
    kernels: list[KernelFindings]
    dag: Dag
    path: CriticalPath | None
    traced: TracedKernels = field(default_factory=TracedKernels)


def assemble(findings: Findings) -> Documents:
    """All documents of a profile."""
    head = _head(findings)
    return Documents(
        profile=_profile(findings, head),
        roofline=schema.RooflineDocument(
            kernels=[
                sections.roofline(kernel.symbol.name, kernel.roofline)
                for kernel in findings.kernels
                if kernel.roofline is not None
            ],
            reasons=_head_reasons(findings),
            **head,
        ),
        dag=_dag(findings, head),
        analysis=schema.AnalysisDocument(
            kernels=[_kernel(kernel, findings) for kernel in findings.kernels],
            reasons=_head_reasons(findings),
            **head,
        ),
        dispatches=DispatchTable(findings.trace, findings.dag, findings.path),
    )


def _head(findings: Findings) -> dict[str, Any]:
    trace = findings.trace
    return {
        "tool": schema.Tool(version=__version__),
        "gpu": sections.gpu(findings.device, trace),
        "timing": trace.timing,
        "timing_parameters": trace.timing_parameters,
    }


def _head_reasons(findings: Findings) -> dict[str, str]:
    if findings.trace.timing_parameters is not None:
        return {}
    measured = findings.trace.timing == "measured"
    return {"timing_parameters": "times are measured" if measured else "the trace does not name them"}


def _profile(findings: Findings, head: dict[str, Any]) -> schema.ProfileDocument:
    chosen = next(kernel for kernel in findings.kernels if kernel.symbol is findings.selection.symbol)
    runtime = Value(findings.stability.median_ms, "ms") if findings.stability else Value.missing("ms", NO_TIME)
    fields = sections.nullable(runtime_ms=runtime)
    fields["reasons"] |= _head_reasons(findings)
    roof = chosen.roofline if chosen.has_counters else None
    if roof is None:
        fields["reasons"]["roofline"] = "no counters were collected" if chosen.roofline else sections.no_position(None)
    return schema.ProfileDocument(
        kernel=_identity(findings),
        stability=_stability(findings.stability),
        resources=sections.resources(chosen.symbol.kernel, findings.trace.dispatches, findings.selection.row),
        occupancy=sections.occupancy(chosen.occupancy, findings.device.cu.reason),
        roofline=sections.roofline(chosen.symbol.name, roof) if roof else None,
        run=_run(findings.trace),
        **head,
        **fields,
    )


def _identity(findings: Findings) -> schema.KernelIdentity:
    selection, dispatches = findings.selection, findings.trace.dispatches
    row, timed = selection.row, findings.path is not None
    whose = "of all: only kernels of the HIP runtime ran" if selection.only_runtime_kernels else "of the program's own kernels"
    return schema.KernelIdentity(
        name=selection.symbol.name,
        symbol=selection.symbol.kernel.symbol,
        dispatch_id=int(dispatches.id[row]),
        duration_ns=int(dispatches.duration[row]) if timed else None,
        workgroup=tuple(dispatches.workgroup[row].tolist()),
        grid=tuple(dispatches.grid[row].tolist()),
        selection=f"the {'longest' if timed else 'first'} dispatch {whose}",
        reasons={} if timed else {"duration_ns": NO_TIME},
    )


def _stability(found: Stability | None) -> schema.StabilitySection:
    if found is None:
        names = ("mean_ms", "stddev_ms", "cv", "classification")
        return schema.StabilitySection(runs=0, **dict.fromkeys(names), reasons=dict.fromkeys(names, NO_TIME))
    alone = ("stddev_ms", "cv", "classification") if found.cv is None else ()
    return schema.StabilitySection(
        runs=len(found.runs_ms),
        mean_ms=found.mean_ms,
        stddev_ms=found.stddev_ms,
        cv=found.cv,
        classification=found.classification,
        reasons=dict.fromkeys(alone, ONE_RUN),
    )


def _run(trace: Trace) -> schema.Run:
    written = datetime.fromtimestamp(int(trace.path.stat().st_mtime), timezone.utc)
    process = trace.process
    return schema.Run(
        command=process.command, host=process.host, pid=process.pid, created=written.isoformat(), collector=trace.collector
    )


def _dag(findings: Findings, head: dict[str, Any]) -> schema.DagDocument:
    dag, path = findings.dag, findings.path
    exact = findings.trace.has_exact_dependencies
    dominant = dominant_symbol(path) if path else None
    names = ("critical_path_ns", "work_ns", "host_ns", "delay_ns", "lead_ns", "dominant_symbol", "fraction", "speedup_ceiling")
    no_calls = findings.trace.no_calls
    reasons = _head_reasons(findings) | ({"host_ns": no_calls} if no_calls else {})
    reasons |= {} if path else dict.fromkeys(names, NO_TIME)
    if dominant and dominant.speedup_ceiling is None:
        reasons["speedup_ceiling"] = WHOLE_PATH
    return schema.DagDocument(
        dependencies="exact" if exact else "inferred",
        nodes=len(dag),
        edges=_edges(dag, no_calls),
        critical_path_ns=path.length_ns if path else None,
        work_ns=path.work_ns if path else None,
        host_ns=path.host_ns if path and not no_calls else None,
        delay_ns=path.delay_ns if path else None,
        lead_ns=path.lead_ns if path else None,
        dominant_symbol=dominant.name if dominant else None,
        fraction=dominant.fraction if dominant else None,
        speedup_ceiling=dominant.speedup_ceiling if dominant else None,
        symbols=[_symbol_on_path(found) for found in path.symbols] if path else _symbols_without_times(findings),
        notes=_dag_notes(path, dominant, exact, not no_calls),
        reasons=reasons,
        **head,
    )


WHOLE_PATH = "the symbol is the whole path"


def dominant_symbol(path: CriticalPath) -> SymbolOnPath:
    """The program's own kernel with the most time on the path; if none ran, whatever has the most."""
    own = (found for found in path.symbols if found.kind == KERNEL and not is_runtime_kernel(found.name))
    return next(own, path.symbols[0])


def _edges(dag: Dag, no_calls: str) -> schema.EdgeCounts:
    counts = dict(zip(Edges.KINDS, np.bincount(dag.kind, minlength=len(Edges.KINDS)).tolist(), strict=True))
    nulls = dict.fromkeys(_OF_CALLS) if no_calls else {}
    return schema.EdgeCounts(exact=dag.exact_edges, reasons=dict.fromkeys(nulls, no_calls), **counts | nulls)


def _dag_notes(path: CriticalPath | None, dominant: SymbolOnPath | None, exact: bool, has_calls: bool) -> list[str]:
    notes = [] if exact else [INFERRED_WITH_CALLS_NOTE if has_calls else INFERRED_NOTE]
    if path is None or dominant is None:
        return notes
    copies = sum(found.fraction for found in path.symbols if found.kind == COPY)
    if copies > dominant.fraction:
        notes.append(
            f"copies are {100 * copies:.1f} % of the path, more than any kernel of the program: move less, keep data on the "
            "device, or let copies overlap kernels (pinned memory, hipMemcpyAsync on a stream of their own)"
        )
    if path.delay_ns + path.host_ns + path.lead_ns > path.work_ns:
        notes.append("on most of the path nothing runs: launches, and the host's work between them, decide the span")
    return notes


def _symbol_on_path(found: SymbolOnPath) -> schema.SymbolPathSection:
    return schema.SymbolPathSection(
        kernel=found.name,
        kind=_kind(found.name, found.kind),
        dispatches=found.nodes,
        dispatches_on_path=found.nodes_on_path,
        total_ms=found.total_ns / 1e6,
        share=found.share,
        critical_path_ns=found.critical_path_ns,
        fraction=found.fraction,
        speedup_ceiling=found.speedup_ceiling,
        min_slack_ns=found.min_slack_ns,
        mean_slack_ns=found.mean_slack_ns,
        overlap_potential_ns=found.overlap_potential_ns,
        reasons=_path_reasons(found),
    )


def _path_reasons(found: SymbolOnPath) -> dict[str, str]:
    reasons = {} if found.speedup_ceiling is not None else {"speedup_ceiling": WHOLE_PATH}
    return reasons | ({"share": "a host call takes no time of the GPU"} if found.share is None else {})


def _kind(name: str, kind: str) -> str:
    if kind == CALL:
        return "host call"
    return "runtime kernel" if kind == KERNEL and is_runtime_kernel(name) else kind


def _symbols_without_times(findings: Findings) -> list[schema.SymbolPathSection]:
    names = ("total_ms", "share", "critical_path_ns", "fraction", "speedup_ceiling", "min_slack_ns", "mean_slack_ns",
             "overlap_potential_ns")  # fmt: skip
    return [
        schema.SymbolPathSection(
            kernel=kernel.symbol.name,
            kind=_kind(kernel.symbol.name, KERNEL),
            dispatches=len(kernel.symbol.rows),
            dispatches_on_path=0,
            **dict.fromkeys(names),
            reasons=dict.fromkeys(names, NO_TIME),
        )
        for kernel in findings.kernels
    ]


def _kernel(kernel: KernelFindings, findings: Findings) -> schema.KernelAnalysis:
    roof, on_path = kernel.roofline, kernel.on_path
    intensity = roof.intensity if roof else Value.missing("FLOP/byte", sections.no_position(None))
    score = Value(on_path.fraction, "fraction") if on_path else Value.missing("fraction", NO_TIME)
    fields = sections.nullable(
        time_ms=sections.milliseconds(kernel.symbol.total_ns), operational_intensity=intensity, critical_path_score=score
    )
    position = roof.position if roof else None
    if position is None:
        fields["reasons"]["roofline_position"] = sections.no_position(roof)
    traced = findings.traced.found.get(kernel.symbol.kernel.symbol)
    if traced is None:
        fields["reasons"]["thread_trace"] = findings.traced.reason
    return schema.KernelAnalysis(
        kernel=kernel.symbol.name,
        dispatches=len(kernel.symbol.rows),
        roofline_position=position,
        bottleneck=sections.bottleneck(kernel.bottleneck, kernel.evidence),
        headroom=sections.headroom(kernel.headroom),
        resources=sections.resources(kernel.symbol.kernel, findings.trace.dispatches, kernel.row),
        occupancy=sections.occupancy(kernel.occupancy, findings.device.cu.reason),
        evidence=sections.evidence(kernel.evidence),
        thread_trace=thread_trace_section(traced) if traced else None,
        notes=list(kernel.notes),
        **fields,
    )
