"""Builds dag.json: the graph, its critical path, what-if scenarios, and the GPUs' idle times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.analysis.critical_path import CriticalPath, SymbolOnPath, dominant_symbol
from rocm_perf_lab.analysis.dag import CALL, COPY, KERNEL, RUNTIME, Dag
from rocm_perf_lab.analysis.idle import Idle
from rocm_perf_lab.analysis.program_gain import ProgramGain
from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.analysis.what_if import DominanceShift, Scenario
from rocm_perf_lab.report import dag_schema
from rocm_perf_lab.report.program_time_stack import program_stack_section
from rocm_perf_lab.rocpd.trace import Edges

if TYPE_CHECKING:
    from rocm_perf_lab.analysis.findings import Findings

INFERRED_NOTE = (
    "dependencies are inferred from order within queues and streams: events between streams and host waits are not in "
    "the trace, so the path can be longer and slack smaller than shown"
)
INFERRED_WITH_CALLS_NOTE = (
    "dependencies are inferred from order within queues and streams, and from the HIP calls: host threads' waits for each "
    "other are not in the trace"
)
_OF_CALLS = ("launch", "event", "wait", "program")


def dag_document(findings: Findings, common_fields: dict[str, Any], reasons: dict[str, str]) -> dag_schema.DagDocument:
    """Build dag.json. common_fields: the fields at the start of every document. reasons: why some of them are null."""
    dag, path = findings.dag, findings.path
    exact = findings.trace.has_exact_dependencies
    dominant = dominant_symbol(path) if path else None
    names = ("critical_path_ns", "work_ns", "host_ns", "delay_ns", "lead_ns", "dominant_symbol", "fraction", "speedup_ceiling")
    no_calls = findings.trace.no_calls
    reasons = reasons | ({"host_ns": no_calls} if no_calls else {})
    reasons |= {} if path else dict.fromkeys(names, NO_TIME)
    if dominant and dominant.speedup_ceiling is None:
        reasons["speedup_ceiling"] = WHOLE_PATH
    if findings.shift is None:
        reasons["dominance_shift"] = NO_OWN_KERNEL if path else NO_TIME
    if findings.program_stack is None:
        reasons["program_stack"] = NO_EXPERIMENTS if path else NO_TIME
    return dag_schema.DagDocument(
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
        next_in_line=_next_in_line(path, dominant) if path and dominant else [],
        symbols=[_symbol_on_path(symbol) for symbol in path.symbols] if path else _symbols_without_times(findings),
        idle=[_idle(gpu) for gpu in findings.idle],
        what_if=[_scenario(scenario) for scenario in findings.what_if],
        program_gains=[_program_gain(gain) for gain in findings.program_gains],
        program_stack=program_stack_section(findings.program_stack) if findings.program_stack else None,
        dominance_shift=_shift(findings.shift) if findings.shift else None,
        notes=_dag_notes(path, dominant, exact, not no_calls),
        reasons=reasons,
        **common_fields,
    )


WHOLE_PATH = "the symbol is the whole path"
NO_OWN_KERNEL = "no kernel of the program is on the path"
NO_EXPERIMENTS = "no experiments were made with a kernel of the program"
DOMINATES = 0.7  # share of the path; below this share, more than 30 % of the span would remain even if the kernel took no time
_IN_LINE = 3


def _next_in_line(path: CriticalPath, dominant: SymbolOnPath) -> list[str]:
    """The program's kernels with the most time on the path after `dominant`; [] if its share reaches DOMINATES."""
    if dominant.fraction >= DOMINATES:
        return []
    own = [symbol for symbol in path.symbols if symbol.kind == KERNEL]
    return [symbol.name for symbol in own if symbol is not dominant and symbol.critical_path_ns][:_IN_LINE]


def _idle(idle: Idle) -> dag_schema.IdleSection:
    gaps = [
        dag_schema.GapSection(
            start_ns=gap.start_ns,
            duration_ns=gap.duration_ns,
            cause=gap.cause,
            before=gap.before,
            waited_for=gap.waited_for,
            reasons={} if gap.waited_for is not None else {"waited_for": "the trace shows nothing on which it depended"},
        )
        for gap in idle.longest
    ]
    return dag_schema.IdleSection(
        agent=idle.agent_id,
        span_ns=idle.span_ns,
        idle_ns=idle.idle_ns,
        fraction=idle.idle_ns / idle.span_ns if idle.span_ns else 0.0,
        gaps=idle.gaps,
        by_cause_ns=idle.by_cause_ns,
        longest=gaps,
    )


def _scenario(scenario: Scenario) -> dag_schema.WhatIfSection:
    reasons = {
        "pattern": "tried by default",
        "factor": "the kernels take no time",
        "speedup": "nothing is left of the span",
        "dominant_symbol": NO_OWN_KERNEL,
    }
    values = {
        "pattern": scenario.pattern,
        "factor": scenario.factor,
        "speedup": scenario.speedup,
        "dominant_symbol": scenario.dominant,
    }
    return dag_schema.WhatIfSection(
        kernels=list(scenario.kernels),
        span_ns=scenario.span_ns,
        fraction=scenario.fraction,
        reasons={name: why for name, why in reasons.items() if values[name] is None},
        **values,
    )


def _program_gain(gain: ProgramGain) -> dag_schema.ProgramGainSection:
    return dag_schema.ProgramGainSection(
        cause=gain.cause,
        kernels=list(gain.kernels),
        span_ns=gain.span_ns,
        gain=gain.gain,
        dominant_symbol=gain.dominant,
        fraction=gain.fraction,
        reasons={} if gain.dominant is not None else {"dominant_symbol": NO_OWN_KERNEL},
    )


def _shift(shift: DominanceShift) -> dag_schema.DominanceShiftSection:
    stays = "it stays dominant up to 100 times faster"
    reasons = {"factor": stays, "then": stays} if shift.factor is None else {}
    if shift.factor is not None and shift.then is None:
        reasons = {"then": NO_OWN_KERNEL}
    return dag_schema.DominanceShiftSection(kernel=shift.kernel, factor=shift.factor, then=shift.then, reasons=reasons)


def _edges(dag: Dag, no_calls: str) -> dag_schema.EdgeCounts:
    counts = dict(zip(Edges.KINDS, np.bincount(dag.kind, minlength=len(Edges.KINDS)).tolist(), strict=True))
    nulls = dict.fromkeys(_OF_CALLS) if no_calls else {}
    return dag_schema.EdgeCounts(exact=dag.exact_edges, reasons=dict.fromkeys(nulls, no_calls), **counts | nulls)


def _dag_notes(path: CriticalPath | None, dominant: SymbolOnPath | None, exact: bool, has_calls: bool) -> list[str]:
    notes = [] if exact else [INFERRED_WITH_CALLS_NOTE if has_calls else INFERRED_NOTE]
    if path is None or dominant is None:
        return notes
    of_runtime = max(
        (symbol for symbol in path.symbols if symbol.kind == RUNTIME), key=lambda symbol: symbol.fraction, default=None
    )
    if of_runtime is not None and dominant.kind == KERNEL and of_runtime.fraction > dominant.fraction:
        notes.append(
            f"{of_runtime.name} accounts for {100 * of_runtime.fraction:.1f} % of the path; it is skipped, as the HIP "
            "runtime's own (fills, copies): the program can only change which of them it requests"
        )
    copies = sum(symbol.fraction for symbol in path.symbols if symbol.kind == COPY)
    if copies > dominant.fraction:
        notes.append(
            f"copies are {100 * copies:.1f} % of the path, more than any kernel of the program: move less, keep data on the "
            "device, or let copies overlap kernels (pinned memory, hipMemcpyAsync on a stream of their own)"
        )
    if path.delay_ns + path.host_ns + path.lead_ns > path.work_ns:
        notes.append("nothing runs on most of the path: launches, and the host's work between them, determine the span")
    return notes


def _symbol_on_path(symbol: SymbolOnPath) -> dag_schema.SymbolPathSection:
    return dag_schema.SymbolPathSection(
        kernel=symbol.name,
        kind="host call" if symbol.kind == CALL else symbol.kind,
        dispatches=symbol.times,
        dispatches_on_path=symbol.times_on_path,
        total_ms=symbol.total_ns / 1e6,
        share=symbol.share,
        critical_path_ns=symbol.critical_path_ns,
        fraction=symbol.fraction,
        speedup_ceiling=symbol.speedup_ceiling,
        min_slack_ns=symbol.min_slack_ns,
        mean_slack_ns=symbol.mean_slack_ns,
        overlap_potential_ns=symbol.overlap_potential_ns,
        reasons=_path_reasons(symbol),
    )


def _path_reasons(symbol: SymbolOnPath) -> dict[str, str]:
    reasons = {} if symbol.speedup_ceiling is not None else {"speedup_ceiling": WHOLE_PATH}
    return reasons | ({"share": "a host call takes no GPU time"} if symbol.share is None else {})


def _symbols_without_times(findings: Findings) -> list[dag_schema.SymbolPathSection]:
    names = ("total_ms", "share", "critical_path_ns", "fraction", "speedup_ceiling", "min_slack_ns", "mean_slack_ns",
             "overlap_potential_ns")  # fmt: skip
    return [
        dag_schema.SymbolPathSection(
            kernel=kernel.symbol.name,
            kind=RUNTIME if kernel.symbol.is_runtime else KERNEL,
            dispatches=len(kernel.symbol.rows),
            dispatches_on_path=0,
            **dict.fromkeys(names),
            reasons=dict.fromkeys(names, NO_TIME),
        )
        for kernel in findings.kernels
    ]
