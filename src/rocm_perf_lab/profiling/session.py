"""Makes a complete profile: runs the program under a collector, analyses the traces and keeps the results."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab import run_directory
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import device_code, triton
from rocm_perf_lab.collect.collector import ROCPROFV3, Collector, choose_collector
from rocm_perf_lab.collect.command import Command, resolve
from rocm_perf_lab.collect.execute import Stream
from rocm_perf_lab.passes import COUNTERS, THREAD_TRACE, Pass, ThreadTraceTarget
from rocm_perf_lab.profiling import run_name
from rocm_perf_lab.profiling.request import ProfileRequest

if TYPE_CHECKING:
    from rocm_perf_lab.analysis.base_run import BaseRun
    from rocm_perf_lab.report.documents import Documents

Note = Callable[[str], None]

THREAD_TRACE_FOLDER = "att"
_ALL_SIMDS, _FIRST_SIMD = 0xF, 0

# Counters serialise kernels, and a collector can hang. A run that takes longer than this many base runs is abandoned.
_PATIENCE, _MIN_PATIENCE_SECONDS = 50, 300.0


@dataclass(frozen=True)
class Traces:
    """All traces except that of the base run. repeats: further runs without counters. passes: see passes.py."""

    repeats: Sequence[Path]
    passes: Sequence[Pass]

    @property
    def counters(self) -> list[Path]:
        return [pass_.output for pass_ in self.passes if pass_.kind == COUNTERS and pass_.output is not None]

    @property
    def thread_trace(self) -> Path | None:
        return next((pass_.output for pass_ in self.passes if pass_.kind == THREAD_TRACE), None)

    def no_thread_trace(self, wanted: bool) -> str:
        """Why there is no thread trace."""
        if not wanted:
            return "switched off by --no-deep-analysis"
        return next((pass_.reason for pass_ in self.passes if pass_.kind == THREAD_TRACE and pass_.reason), "none was made")


def profile(request: ProfileRequest, program_output: Stream | None, note: Note) -> tuple[Documents, Path]:
    """Profile a program; returns the documents and the path of the run directory.

    program_output: where the first run's standard output goes (the others' output is dropped). note: called with a one-line
    message at each step. Raises a RocmPerfError, in which case no run directory is left or changed.
    """
    devices.require_observation(request.device_options, "profile")
    command = resolve(request.command)
    destination = request.destination or run_name.of_command(command)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        by_rocprofv3 = request.collector == ROCPROFV3
        device = devices.select(
            request.device,
            Path(scratch),
            request.device_options,
            sample_if_large=True,
            several=True,
            for_profilers=by_rocprofv3,
        )
        if request.ceilings is not None:  # a wrong file should be reported before the program runs
            from rocm_perf_lab.analysis.ceilings import ceilings_for

            ceilings_for(request.ceilings, [device.target], "measured" if device.is_hardware else "modelled")
        collector = choose_collector(request.collector, device, Path(scratch), request.timeout, note, counters=request.roofline)
        note(f"device: {device.description}; collector: {collector.name}")
        if request.destination is None and (earlier := run_name.replaced(destination, command)):
            note(f"{destination} contains a run of `{earlier}`, which this run will replace; -o DIR keeps both")
        with (
            device_code.checking_device_code(command, os.environ, device, note),
            run_directory.new_run_directory(destination) as directory,
        ):
            folder, runs = directory / run_directory.TRACE_FOLDER, request.runs or _default_runs(device)
            base, traces = _collect(collector, command, folder, request, runs, program_output, note)
            note("analysing")
            documents = _analyse_and_write(base, traces, directory, request)
            _note_what_is_absent(note)
    return documents, destination


def _note_what_is_absent(note: Note) -> None:
    from rocm_perf_lab.report.exporters.parquet_file import why_absent

    if (reason := why_absent()) is not None:
        note(reason)


def _default_runs(device: devices.Device) -> int:
    """Modelled time does not vary, so one run is enough."""
    return 3 if device.is_hardware else 1


def _collect(
    collector: Collector,
    command: Command,
    folder: Path,
    request: ProfileRequest,
    runs: int,
    output: Stream | None,
    note: Note,
) -> tuple[BaseRun, Traces]:
    from rocm_perf_lab.analysis.base_run import read_base_run

    environment = os.environ | triton.description_variables(folder)
    databases = [folder / "base_results.db"]
    databases += [folder / f"repeat_{number}_results.db" for number in range(1, runs)]
    seconds = []
    for number, database in enumerate(databases, start=1):
        note(f"run {number} of {runs}: {command.program}")
        began = time.monotonic()
        collector.trace(command, environment, database, output if number == 1 else subprocess.DEVNULL)
        seconds.append(time.monotonic() - began)
    other_processes = len(list(folder.glob("base_results_*.db")))  # the tracer adds the process id to all names but the first
    if other_processes:
        others = "another process" if other_processes == 1 else f"{other_processes} other processes"
        note(f"{others} of the program used the GPU; only the first is analysed")
    limit = request.timeout or max(_MIN_PATIENCE_SECONDS, _PATIENCE * max(seconds))
    base = read_base_run(databases[0], request.kernel)
    passes = collector.restricted_to(_kernels(base)).collect_counters(command, environment, folder, limit)
    if request.deep_analysis and (target := _thread_trace_target(base, request)):
        note(f"thread trace: dispatch {target.iteration} of {target.name}")
        passes.append(collector.record_thread_trace(target, command, environment, folder / THREAD_TRACE_FOLDER, limit))
    return base, Traces(databases[1:], passes)


def _kernels(base: BaseRun) -> list[str] | None:
    """The demangled names of the kernels to report on; None for all. Raises EmptyPartError if the pattern matches none."""
    from rocm_perf_lab.analysis.symbols import symbols_of

    wanted = base.symbols
    return [symbol.name for symbol in wanted] if len(wanted) < len(symbols_of(base.trace)) else None


def _thread_trace_target(base: BaseRun, request: ProfileRequest) -> ThreadTraceTarget | None:
    """Which dispatch to trace. None if the base run has no kernel: the analysis will report that."""
    from rocm_perf_lab.analysis.thread_trace_target import also_on_path, choose_dispatch

    chosen = choose_dispatch(base, request.focus_critical)
    if chosen is None:
        return None
    kernel = chosen.symbol.kernel
    agent = base.trace.agents.get(int(base.trace.dispatches.agent_id[chosen.symbol.rows[0]]))
    # gfx9 and the software device take a mask of four SIMDs; later families take the number of a single SIMD.
    takes_mask = agent is None or agent.target.startswith("gfx9") or base.trace.timing == "modelled"
    default = _ALL_SIMDS if takes_mask else _FIRST_SIMD
    simds = default if request.att_simd_select is None else request.att_simd_select
    also = {other.symbol.kernel.symbol: other.iteration for other in also_on_path(base, chosen.symbol)}
    return ThreadTraceTarget(kernel.symbol, kernel.name, chosen.iteration, request.att_target_cu, simds, also)


def _analyse_and_write(base: BaseRun, traces: Traces, directory: Path, request: ProfileRequest) -> Documents:
    from rocm_perf_lab.profiling.pipeline import analyse
    from rocm_perf_lab.report.exporters import export_all
    from rocm_perf_lab.report.passes_section import ProfilePasses

    documents = analyse(
        base,
        traces.repeats,
        traces.counters,
        traces.thread_trace,
        no_thread_trace=traces.no_thread_trace(request.deep_analysis),
        clock_mhz=request.clock_mhz,
        memory_bandwidth_gbps=request.memory_bandwidth_gbps,
        ceilings=request.ceilings,
        passes=ProfilePasses(traces.passes, directory, request.roofline),
    )
    export_all(documents, directory)
    return documents
