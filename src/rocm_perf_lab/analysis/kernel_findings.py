"""The findings about one kernel symbol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rocm_perf_lab.analysis import time_stack_verdict
from rocm_perf_lab.analysis.bottleneck import Bottleneck, classify
from rocm_perf_lab.analysis.bottleneck_thresholds import LARGER
from rocm_perf_lab.analysis.ceilings import Ceilings
from rocm_perf_lab.analysis.counters import SymbolCounters, why_no_counters
from rocm_perf_lab.analysis.critical_path import SymbolOnPath
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.analysis.estimate_errors import Sampling, sampling_of
from rocm_perf_lab.analysis.evidence import Evidence, gather
from rocm_perf_lab.analysis.headroom import Headroom, headroom
from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.analysis.occupancy import DispatchOccupancy, dispatch_occupancy
from rocm_perf_lab.analysis.roofline import Roofline, roofline
from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings
from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.rocpd.trace import Trace


@dataclass(frozen=True)
class KernelFindings:
    """row: the dispatch that represents the symbol when a single one is needed (its longest). on_path: None without times.

    counters: the sums over all dispatches of the symbol, as counted by the hardware or the software device.
    """

    symbol: Symbol
    row: int
    occupancy: DispatchOccupancy
    roofline: Roofline | None
    evidence: Evidence
    bottleneck: Bottleneck
    headroom: Headroom
    on_path: SymbolOnPath | None
    no_counters: str | None  # the reason why there are none
    counters: Mapping[str, float]
    notes: tuple[str, ...]
    sampling: Sampling | None  # None if no figure is an estimate


def kernel_findings(
    trace: Trace,
    symbol: Symbol,
    device: GpuSpecs,
    counters: SymbolCounters,
    on_path: SymbolOnPath | None,
    ceilings: Ceilings | None = None,
    traced: ThreadTraceFindings | None = None,
    metadata: KernelMetadata | None = None,
) -> KernelFindings:
    """Everything that a base trace and its counters say about one symbol.

    ceilings: the device's measured ceilings. traced: what a thread trace says about the symbol. metadata: from its code
    object.
    """
    row = symbol.longest
    sampling = sampling_of(trace, symbol)
    occupancy = dispatch_occupancy(trace, symbol, row, device, metadata)
    roof = roofline(counters, symbol.total_ns, device, ceilings)
    scratch = max(symbol.kernel.scratch_bytes, int(trace.dispatches.scratch_bytes[row]))
    measured = not trace.process.is_modelled
    evidence = gather(counters, symbol.total_ns, len(symbol.rows), occupancy, roof, device, scratch, traced, measured)
    fraction = on_path.fraction if on_path else None
    bottleneck, room = classify(evidence), headroom(roof, evidence, fraction)
    stack = traced.stack if traced is not None else None
    if stack is None:
        bottleneck = _with_small_problem_caveat(bottleneck, trace, occupancy)
    else:
        error = error_for_differences(trace.timing_parameters)
        known = None if isinstance(error, str) else error
        bottleneck = time_stack_verdict.verdict(stack, bottleneck, known, trace.software_device is not None)
        if trace.software_device is not None and bottleneck.name == time_stack_verdict.SMALL_GRID:
            bottleneck = replace(bottleneck, advice=(_larger(occupancy), *bottleneck.advice))
        room = time_stack_verdict.headroom(stack, symbol.total_ns, fraction)
    return KernelFindings(
        symbol=symbol,
        row=row,
        occupancy=occupancy,
        roofline=roof,
        evidence=evidence,
        bottleneck=bottleneck,
        headroom=room,
        on_path=on_path,
        no_counters=why_no_counters(counters),
        counters=counters.values | counters.raw,
        notes=(counters.notes if roof is None else roof.notes)
        + _of_thread_trace(evidence, traced)
        + ((sampling.note,) if sampling else ()),
        sampling=sampling,
    )


def _of_thread_trace(evidence: Evidence, traced: ThreadTraceFindings | None) -> tuple[str, ...]:
    if traced is None or traced.waves.value is None or not evidence.traced:
        return ()
    names = ", ".join(name.replace("_", " ") for name in evidence.traced)
    return (f"without counters, {names} are those of the {traced.waves.value:,.0f} waves in the thread trace",)


def _with_small_problem_caveat(verdict: Bottleneck, trace: Trace, occupancy: DispatchOccupancy) -> Bottleneck:
    """The verdict, with a caveat on the software device: a grid may be small only because the problem was made small."""
    small = next((factor for factor in verdict.factors if factor.name == time_stack_verdict.SMALL_GRID), None)
    if trace.software_device is None or small is None:
        return verdict
    doubt = "unless the problem was made small for the software device"
    factors = tuple(
        replace(f, why=f"{f.why}, {doubt}") if f.name == time_stack_verdict.SMALL_GRID else f for f in verdict.factors
    )
    position = verdict.advice.index(small.advice[0])
    return replace(
        verdict, factors=factors, advice=(*verdict.advice[:position], _larger(occupancy), *verdict.advice[position:])
    )


def _larger(occupancy: DispatchOccupancy) -> str:
    fills = f": {occupancy.device_waves:,} waves fill the GPU" if occupancy.device_waves else ""
    return f"{LARGER}{fills}"
