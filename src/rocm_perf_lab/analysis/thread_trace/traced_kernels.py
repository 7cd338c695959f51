"""A program's thread traces, one for each traced kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings, findings
from rocm_perf_lab.analysis.thread_trace.read import NOTHING_RAN, read_all
from rocm_perf_lab.analysis.thread_trace.tables import ThreadTrace
from rocm_perf_lab.arch.family import Family

NOT_MADE = "no thread trace was made"
OTHER_KERNEL = "the thread trace is of another kernel"


@dataclass(frozen=True)
class TracedKernels:
    """by_symbol: mangled symbol -> the findings from its trace. reason: why the other kernels have none.

    notes: which traces yielded nothing, and why.
    """

    by_symbol: dict[str, ThreadTraceFindings] = field(default_factory=dict)
    reason: str = NOT_MADE
    notes: tuple[str, ...] = ()


def traced_kernels(folder: Path, family: Family | None) -> TracedKernels:
    """Read all traces in or below `folder`; if a kernel has several, take the one with the most instructions."""
    by_symbol: dict[str, ThreadTraceFindings] = {}
    reasons = []
    for trace in read_all(folder):
        if trace.code is None:
            reasons.append(_why_nothing(trace))
            continue
        of_trace = findings(trace, family)
        if of_trace.symbol is None:
            reasons.append(f"{trace.folder.name} does not name its kernel")
        elif of_trace.symbol not in by_symbol or _has_more_instructions(of_trace, by_symbol[of_trace.symbol]):
            by_symbol[of_trace.symbol] = of_trace
    notes = tuple(dict.fromkeys(reasons))
    if by_symbol:
        return TracedKernels(by_symbol, "; ".join((OTHER_KERNEL, *notes)), notes)
    return TracedKernels({}, "; ".join(notes) or f"{folder} has no thread trace", notes)


def _why_nothing(trace: ThreadTrace) -> str:
    name = trace.folder.name if trace.dispatch is None else f"dispatch {trace.dispatch}"
    if trace.missing["code"] != NOTHING_RAN:
        return f"the trace of {name} has no usable data: {trace.missing['code']}"
    return f"{name} was traced, but {NOTHING_RAN}: choose others (--att-target-cu, --att-simd-select)"


def _has_more_instructions(one: ThreadTraceFindings, other: ThreadTraceFindings) -> bool:
    return (one.instructions.value or 0) > (other.instructions.value or 0)
