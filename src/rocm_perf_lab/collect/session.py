"""A profile from its beginning to its end: run the program under a collector, analyse the traces, keep the results."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import rocm, run_directory
from rocm_perf_lab.collect.command import Command, resolve
from rocm_perf_lab.collect.counter_passes import counter_passes
from rocm_perf_lab.collect.rocprofv3 import Rocprofv3
from rocm_perf_lab.collect.tracer import BuiltinTracer

if TYPE_CHECKING:
    from rocm_perf_lab.analysis.pipeline import Documents

Note = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What to profile and how.

    words: the program and its arguments, or both in one string. runs: how often to run it, at least once.
    device: one of collect.device.CHOICES, with device_options for the software device. destination: the run directory, None for ./<program>.rocm-perf.
    timeout: seconds for each run. clock_mhz, memory_bandwidth_gbps: replace what the trace and products.toml say.
    """

    words: Sequence[str]
    runs: int = 3
    device: str = devices.AUTO
    device_options: Sequence[str] = ()
    use_rocprof: bool = True
    destination: Path | None = None
    timeout: float | None = None
    clock_mhz: float | None = None
    memory_bandwidth_gbps: float | None = None


@dataclass(frozen=True)
class Traces:
    """base: the trace that times and the critical path are read from; repeats: for stability; counters: passes apart."""

    base: Path
    repeats: Sequence[Path]
    counters: Sequence[Path]


def profile(request: Request, program_output: IO | int | None, note: Note) -> tuple[Documents, Path]:
    """Profile a program; return what was found and the run directory.

    program_output: where the standard output of the first run goes (that of the others is dropped).
    note: is told of every step in one line. Raises a RocmPerfError; then no run directory is left or changed.
    """
    command = resolve(request.words)
    destination = request.destination or Path(f"{Path(command.program).name}.rocm-perf")
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        device = devices.select(request.device, Path(scratch), request.device_options)
        collector = choose_collector(device, request, Path(scratch), note)
        note(f"device: {device.description}; collector: {collector.name}")
        with run_directory.growing(destination) as directory:
            traces = _collect(collector, command, directory / run_directory.TRACE_FOLDER, request, program_output, note)
            note("analysing")
            documents = _analyse_and_write(traces, directory, request)
    return documents, destination


def choose_collector(device: devices.Device, request: Request, scratch: Path, note: Note) -> Rocprofv3 | BuiltinTracer:
    """rocprofv3 where there is a GPU and it is installed and wanted, else the built-in tracer."""
    rocprofv3 = rocm.find_program("rocprofv3") if device.is_hardware and request.use_rocprof else None
    if rocprofv3 is not None:
        return Rocprofv3(device, rocprofv3, counter_passes(device.target), note, request.timeout)
    return BuiltinTracer.on(device, scratch, request.timeout)


def _collect(
    collector: Rocprofv3 | BuiltinTracer, command: Command, folder: Path, request: Request, output, note: Note
) -> Traces:
    environment = dict(os.environ)
    databases = [folder / "base_results.db"]
    databases += [folder / f"repeat_{number}_results.db" for number in range(1, request.runs)]
    for number, database in enumerate(databases, start=1):
        note(f"run {number} of {request.runs}: {command.program}")
        collector.trace(command, environment, database, output if number == 1 else subprocess.DEVNULL)
    others = len(list(folder.glob("base_results_*.db")))  # The tracer adds the process id for all but the first.
    if others:
        note(f"{others} more processes of the program used the GPU; only the first is analysed")
    return Traces(databases[0], databases[1:], collector.counters(command, environment, folder))


def _analyse_and_write(traces: Traces, directory: Path, request: Request) -> Documents:
    from rocm_perf_lab.analysis.pipeline import analyse
    from rocm_perf_lab.report.write import write_documents

    documents = analyse(
        traces.base,
        traces.repeats,
        traces.counters,
        clock_mhz=request.clock_mhz,
        memory_bandwidth_gbps=request.memory_bandwidth_gbps,
    )
    write_documents(directory, documents)
    return documents
