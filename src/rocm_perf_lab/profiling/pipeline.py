"""Turns the traces of a profile into its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rocm_perf_lab.analysis.annotated_code import annotated_code
from rocm_perf_lab.analysis.base_run import BaseRun, read_base_run, read_part
from rocm_perf_lab.analysis.ceilings import ceilings_for
from rocm_perf_lab.analysis.code_objects import CodeObjects, packing_of
from rocm_perf_lab.analysis.counters import SymbolCounters, counters_by_symbol
from rocm_perf_lab.analysis.device import GpuSpecs, devices_of
from rocm_perf_lab.analysis.findings import Findings
from rocm_perf_lab.analysis.idle import idle
from rocm_perf_lab.analysis.kernel_findings import kernel_findings
from rocm_perf_lab.analysis.packed_math import packed_counted_twice
from rocm_perf_lab.analysis.program_gain import with_program_gains
from rocm_perf_lab.analysis.program_roofline import total_roofline
from rocm_perf_lab.analysis.program_time_stack import program_stack
from rocm_perf_lab.analysis.stability import Stability, runtime_ms, stability
from rocm_perf_lab.analysis.symbols import Symbol, symbols_of
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack
from rocm_perf_lab.analysis.thread_trace.traced_kernels import NOT_MADE, TracedKernels, traced_kernels
from rocm_perf_lab.analysis.triton.kernel_descriptions import described_kernels
from rocm_perf_lab.analysis.what_if import Speedup, what_if
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.report.assemble import assemble
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.passes_section import ProfilePasses
from rocm_perf_lab.report.source import MAX_INSTRUCTIONS_PER_KERNEL
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess
from rocm_perf_lab.rocpd.trace import Trace
from rocm_perf_lab.rocpd.trace_part import WHOLE_TRACE, TracePart


def analyse(
    base: BaseRun | Path | RecordedProcess,
    repeats: Sequence[Path | RecordedProcess] = (),
    counters: Sequence[Path | RecordedProcess] = (),
    thread_trace: Path | None = None,
    *,
    no_thread_trace: str = NOT_MADE,
    clock_mhz: float | None = None,
    memory_bandwidth_gbps: float | None = None,
    ceilings: Path | None = None,
    part: TracePart = WHOLE_TRACE,
    kernel: str | None = None,
    speedups: Sequence[Speedup] = (),
    passes: ProfilePasses = ProfilePasses(),
) -> Documents:
    """Analyse the runs of one program.

    base: the trace that provides runtimes and the critical path; its counters are used as well. A BaseRun that is passed in
    keeps the part and the kernels that were selected when it was read.
    repeats: further runs without counters, which show how stable the runtime is.
    counters: counter passes, which provide the other counters.
    thread_trace: a folder with the files of a thread trace, as rocprofv3 writes them. no_thread_trace: why there is none.
    clock_mhz, memory_bandwidth_gbps: override the device's known peak figures.
    ceilings: a file with measured ceilings, see analysis.ceilings.
    part: the part of the traces to analyse; a time window is not applied to counter passes, which run slower.
    kernel: a pattern (see kernel_pattern) for the kernels to report on (the path still covers all); None for all.
    speedups: the speed-ups with which to replay the graph.
    passes: what to report about the counter passes and the thread trace.

    Raises TraceError for a trace that cannot be read or whose times cannot be compared with the base run's, and NoKernelsError
    if the base run dispatched no kernel.
    """
    run = base if isinstance(base, BaseRun) else read_base_run(base, kernel, part)
    run.expect_kernels()
    trace = run.trace
    counter_traces = [read_part(source, replace(part, window=None)) for source in counters]
    again = [read_part(source, part) for source in repeats]
    for other in (*counter_traces, *again):
        _check_times_are_comparable(trace, other)
    symbols, selection, path = run.symbols, run.selection, run.path
    scenarios, shift = what_if(run.dag, path, speedups, _mangled(trace)) if path else ([], None)
    on_path = {symbol.name: symbol for symbol in path.symbols} if path else {}
    devices = devices_of(trace, clock_mhz, memory_bandwidth_gbps)
    device = devices[int(trace.dispatches.agent_id[selection.row])]
    measured = ceilings_for(ceilings, [figures.target for figures in devices.values()], trace.timing) if ceilings else None
    traced = traced_kernels(thread_trace, device.family) if thread_trace else TracedKernels(reason=no_thread_trace)
    code = CodeObjects(trace, thread_trace)
    sums = _sums(trace, counter_traces, traced, code)
    kernels = [
        kernel_findings(
            trace,
            symbol,
            _device_of_symbol(trace, symbol, devices),
            sums[symbol.kernel.symbol],
            on_path.get(symbol.name),
            measured,
            traced.by_symbol.get(symbol.kernel.symbol),
            code.metadata(symbol.kernel),
        )
        for symbol in symbols
    ]
    kernels, program_gains = with_program_gains(kernels, run.dag, path)
    findings = Findings(
        trace=trace,
        selection=selection,
        device=device,
        stability=_stability(trace, again),
        kernels=kernels,
        dag=run.dag,
        path=path,
        traced=traced,
        idle=idle(trace, run.dag, path) if path else [],
        what_if=scenarios,
        shift=shift,
        program_gains=program_gains,
        program_stack=program_stack(_stacks(symbols, traced), run.dag, path),
        total=total_roofline(symbols, sums, devices, measured),
        ceilings=measured,
        code=[
            annotated_code(
                reported.symbol.kernel, traced.by_symbol.get(reported.symbol.kernel.symbol), code, MAX_INSTRUCTIONS_PER_KERNEL
            )
            for reported in kernels
        ],
        triton=described_kernels(trace.path),
    )
    return assemble(findings, passes)


def _stacks(symbols: Sequence[Symbol], traced: TracedKernels) -> dict[str, TimeStack]:
    """Kernel name -> time stack, for kernels with experiments."""
    by_name = {symbol.name: traced.by_symbol.get(symbol.kernel.symbol) for symbol in symbols}
    return {name: findings.stack for name, findings in by_name.items() if findings is not None and findings.stack is not None}


def _sums(trace: Trace, counter_traces: Sequence[Trace], traced: TracedKernels, code: CodeObjects) -> dict[str, SymbolCounters]:
    """Mangled symbol -> the kernel's counters, with packed instructions counted twice."""
    sums = counters_by_symbol(trace, counter_traces)
    for symbol in symbols_of(trace):
        name = symbol.kernel.symbol
        sums[name] = packed_counted_twice(sums[name], packing_of(symbol, sums[name], traced.by_symbol.get(name), code))
    return sums


def _check_times_are_comparable(base: Trace, other: Trace) -> None:
    """Refuse to mix measured and modelled times, or modelled times with different parameters, since they are not comparable."""
    if (base.timing, base.timing_parameters) == (other.timing, other.timing_parameters):
        return
    first, second = (f"{run.timing} with the parameters {run.timing_parameters}" if run.timing_parameters else run.timing
                     for run in (base, other))  # fmt: skip
    raise TraceError(
        f"times in {base.path} are {first}, those in {other.path} {second}: they cannot be compared",
        "analyse them one by one, or record both traces again",
    )


def _mangled(trace: Trace) -> dict[str, str]:
    """Demangled -> mangled name."""
    return {symbol.name: symbol.kernel.symbol for symbol in symbols_of(trace)}


def _stability(trace: Trace, repeats: Sequence[Trace]) -> Stability | None:
    """How much the runtime varies across runs; None if the base run has no times. Repeats without times are ignored."""
    if not trace.has_times:
        return None
    runs = [trace, *(run for run in repeats if run.has_times)]
    return stability([runtime_ms(run) for run in runs])


def _device_of_symbol(trace: Trace, symbol: Symbol, devices: dict[int, GpuSpecs]) -> GpuSpecs:
    """The device of the symbol's longest dispatch."""
    return devices[int(trace.dispatches.agent_id[symbol.longest])]
