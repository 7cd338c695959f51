"""From the traces of a profile to its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rocm_perf_lab.analysis.ceilings import Ceilings, ceilings_for
from rocm_perf_lab.analysis.code_objects import CodeObjects, packing_of
from rocm_perf_lab.analysis.counters import SymbolCounters, counters_by_symbol, sum_of
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.analysis.device import Device, device_of
from rocm_perf_lab.analysis.idle import idle
from rocm_perf_lab.analysis.kernel import study
from rocm_perf_lab.analysis.packing import unpacked
from rocm_perf_lab.analysis.roofline import Roofline, roofline
from rocm_perf_lab.analysis.selection import select
from rocm_perf_lab.analysis.stability import Stability, runtime_ms, stability
from rocm_perf_lab.analysis.symbols import Symbol, fitting, symbols_of
from rocm_perf_lab.analysis.thread_trace.kernels import NOT_MADE, TracedKernels, traced_kernels
from rocm_perf_lab.analysis.what_if import Speedup, what_if
from rocm_perf_lab.errors import NoKernelsError, TraceError
from rocm_perf_lab.report.assemble import Findings, assemble
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.rocpd.codes import codes
from rocm_perf_lab.rocpd.origin import Origin
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.restrict import WHOLE, Part
from rocm_perf_lab.rocpd.tables import Trace

__all__ = ["Documents", "analyse"]


def analyse(
    base: Path | Origin,
    repeats: Sequence[Path | Origin] = (),
    counters: Sequence[Path | Origin] = (),
    thread_trace: Path | None = None,
    *,
    no_thread_trace: str = NOT_MADE,
    clock_mhz: float | None = None,
    memory_bandwidth_gbps: float | None = None,
    ceilings: Path | None = None,
    part: Part = WHOLE,
    kernel: str | None = None,
    speedups: Sequence[Speedup] = (),
) -> Documents:
    """Analyses the runs of one program.

    base: the trace that runtimes and the critical path come from; counters in it are used too.
    repeats: further runs without counters, for the stability of the runtime.
    counters: counter passes, for everything else.
    thread_trace: a folder with the files of one, as rocprofv3 writes them; no_thread_trace: why there is none.
    clock_mhz, memory_bandwidth_gbps: take the place of the device's known peak figures.
    ceilings: a file with measured ones, see analysis.ceilings.
    part: what of the traces to analyse; a window of time is not looked for in counter passes, which run slower.
    kernel: a pattern as kernel_pattern has it, for the kernels to report on, out of the whole path; None for all.
    speedups: what to run the graph again with.

    Raises TraceError for a trace that cannot be read or whose times cannot be compared with those of the base run,
    NoKernelsError if the base run dispatched no kernel.
    """
    trace = _read(base, part)
    if not len(trace.dispatches):
        raise NoKernelsError(f"{trace.process.command or base} launched no GPU kernel", _no_kernels(trace))
    passes = [_read(source, replace(part, window=None)) for source in counters]
    again = [_read(source, part) for source in repeats]
    for run in (*passes, *again):
        _check_one_clock(trace, run)
    symbols = fitting(symbols_of(trace), kernel)
    selection = select(trace, symbols)
    dag = build_dag(trace)
    path = critical_path(dag) if trace.has_times else None
    scenarios, shift = what_if(dag, path, speedups, _mangled(trace)) if path else ([], None)
    on_path = {found.name: found for found in path.symbols} if path else {}
    sums = counters_by_symbol(trace, passes)
    devices = _devices(trace, clock_mhz, memory_bandwidth_gbps)
    family = devices[int(trace.dispatches.agent_id[selection.row])].family
    targets = [device.target for device in devices.values()]
    measured = ceilings_for(ceilings, targets, trace.timing) if ceilings else None
    traced = traced_kernels(thread_trace, family) if thread_trace else TracedKernels(reason=no_thread_trace)
    code = CodeObjects(trace, thread_trace)
    for symbol in symbols_of(trace):
        name = symbol.kernel.symbol
        sums[name] = unpacked(sums[name], packing_of(symbol, sums[name], traced.found.get(name), code))
    kernels = [
        study(
            trace,
            symbol,
            _device_of_symbol(trace, symbol, devices),
            sums[symbol.kernel.symbol],
            on_path.get(symbol.name),
            measured,
            traced.found.get(symbol.kernel.symbol),
            code.metadata(symbol.kernel),
        )
        for symbol in symbols
    ]
    findings = Findings(
        trace=trace,
        selection=selection,
        device=devices[int(trace.dispatches.agent_id[selection.row])],
        stability=_stability(trace, again),
        kernels=kernels,
        dag=dag,
        path=path,
        traced=traced,
        idle=idle(trace, dag, path) if path else [],
        what_if=scenarios,
        shift=shift,
        total=_total(trace, symbols, sums, devices, measured),
        ceilings=measured,
    )
    return assemble(findings)


def _no_kernels(trace: Trace) -> str:
    mend = "check that it is a HIP program and that it reaches its kernels"
    if trace.process.own:
        return mend
    return f"{mend}; if a process that ends by _exit, quick_exit or exec does, rocprofv3 lost it: profile with --no-rocprof"


def _read(source: Path | Origin, part: Part) -> Trace:
    if isinstance(source, Origin):
        return read_trace(source.path, source.suffix, part)
    return read_trace(source, None, part)


def _check_one_clock(base: Trace, other: Trace) -> None:
    """Measured and modelled times, or times of two sets of parameters, say nothing about each other."""
    if (base.timing, base.timing_parameters) == (other.timing, other.timing_parameters):
        return
    first, second = (f"{run.timing} with the parameters {run.timing_parameters}" if run.timing_parameters else run.timing
                     for run in (base, other))  # fmt: skip
    raise TraceError(
        f"times in {base.path} are {first}, those in {other.path} {second}: they cannot be compared",
        "analyse them one by one, or make both traces again",
    )


def _mangled(trace: Trace) -> dict[str, str]:
    """Demangled -> mangled name."""
    return {symbol.name: symbol.kernel.symbol for symbol in symbols_of(trace)}


def _stability(trace: Trace, repeats: Sequence[Trace]) -> Stability | None:
    """None if the base run has no times; repeats without times are left out."""
    if not trace.has_times:
        return None
    runs = [trace, *(run for run in repeats if run.has_times)]
    return stability([runtime_ms(run) for run in runs])


def _devices(trace: Trace, clock_mhz: float | None, memory_bandwidth_gbps: float | None) -> dict[int, Device]:
    """The devices that kernels ran on, by agent id."""
    used = codes(trace.dispatches.agent_id)[0].tolist()
    missing = [id for id in used if id not in trace.agents]
    if missing:
        raise TraceError(f"{trace.path} has dispatches on the unknown agent {missing[0]}", "profile the program again")
    return {id: device_of(trace.agents[id], clock_mhz, memory_bandwidth_gbps) for id in used}


def _total(
    trace: Trace, symbols: list[Symbol], sums: dict[str, SymbolCounters], devices: dict[int, Device], measured: Ceilings | None
) -> Roofline | None:
    """The roofline of all the program's own kernels together; None if they ran on several devices."""
    own = [symbol for symbol in symbols if not symbol.is_runtime]
    if len(devices) != 1 or not own:
        return None
    together = sum_of([sums[symbol.kernel.symbol] for symbol in own])
    return roofline(together, sum(symbol.total_ns for symbol in own), next(iter(devices.values())), measured)


def _device_of_symbol(trace: Trace, symbol: Symbol, devices: dict[int, Device]) -> Device:
    """The device of the symbol's longest dispatch."""
    return devices[int(trace.dispatches.agent_id[symbol.longest])]
