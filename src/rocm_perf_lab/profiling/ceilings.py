"""Measures a device's ceilings: compiles the microbenchmarks of ceilings.hip, runs them traced, and derives rates from times.

The times come from the same tracer as the times in a profile, so that a kernel and its roof are measured in the same way.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from rocm_perf_lab import rocm
from rocm_perf_lab.analysis.ceilings import Ceiling, CeilingOutcome, Measurement
from rocm_perf_lab.arch.family import Pipe
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.tracer import BuiltinTracer
from rocm_perf_lab.errors import RocmPerfError, UnavailableError, UsageError
from rocm_perf_lab.rocpd.reader import read_trace

_MEMORY = ("HBM", "MALL", "L2", "L1", "LDS")
_VALU = ("valu_f16", "valu_f32", "valu_f64")
_MFMA = ("mfma_f16", "mfma_bf16", "mfma_f32", "mfma_f64", "mfma_i8")

# The benchmarks of each target. gfx90a has no MALL; gfx1030 has no matrix units.
BENCHMARKS = {
    "gfx942": (*_MEMORY, *_VALU, *_MFMA, "mfma_f8", "mfma_xf32"),
    "gfx950": (*_MEMORY, *_VALU, *_MFMA, "mfma_f8"),
    "gfx90a": (*(name for name in _MEMORY if name != "MALL"), *_VALU, *_MFMA),
    "gfx1030": (*_MEMORY, *_VALU),
}
# The K dimension of the measured matrix instructions, for 16-bit floats, 8-bit floats and 8-bit integers.
_DEPTHS = {"gfx942": (8, 16, 16), "gfx950": (16, 64, 32), "gfx90a": (8, 16, 8)}
_KERNEL_PREFIX = "ceiling_"


def measure_ceilings(
    choice: str, only: Sequence[str], repeats: int | None, note: Callable[[str], None], timeout: float | None
) -> Measurement:
    """Run the named benchmarks, or all if none are named. A benchmark that fails does not stop the others.

    choice: the device; see collect.device. repeats: repetitions of each benchmark; None means five, or one if times are
    modelled. timeout: seconds for each benchmark. Raises what selecting a device raises, UsageError for a benchmark that the
    device does not have, and UnavailableError if there is no compiler or the target has no benchmarks.
    """
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
        scratch = Path(name)
        device = devices.select(choice, scratch)
        names = _chosen_benchmarks(_benchmarks_of(device.target), only)
        note(f"device: {device.description}")
        count = repeats or (5 if device.is_hardware else 1)
        timing, effort = ("measured", "full") if device.is_hardware else ("modelled", "brief")
        outcomes = list(_measure(device, scratch, count, names, effort, note, timeout))
    return Measurement(device.target, device.description, timing, effort, count, outcomes)


def _measure(
    device: Device,
    scratch: Path,
    repeats: int,
    names: Sequence[str],
    effort: str,
    note: Callable[[str], None],
    timeout: float | None,
) -> Iterator[CeilingOutcome]:
    """effort: 'full', or 'brief' for less work, which suffices for modelled times, since these do not vary."""
    program = _compiled(device.target, scratch)
    tracer = BuiltinTracer.on(device, scratch, timeout)
    for number, name in enumerate(names, start=1):
        note(f"ceiling {number} of {len(names)}: {name}")
        try:
            yield CeilingOutcome(_key(name), _rate(tracer, program, (name, str(repeats), effort), scratch), None)
        except RocmPerfError as error:
            yield CeilingOutcome(_key(name), None, _reason(scratch / f"{name}.log") or error.problem)


def _benchmarks_of(target: str) -> tuple[str, ...]:
    if target not in BENCHMARKS:
        raise UnavailableError(f"there are no microbenchmarks for {target}", f"use one of {', '.join(BENCHMARKS)}")
    return BENCHMARKS[target]


def _chosen_benchmarks(every: tuple[str, ...], only: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in only if name not in every]
    if unknown:
        raise UsageError(f"--only {unknown[0]}: this device has no such benchmark", f"use one of {', '.join(every)}")
    return tuple(name for name in every if not only or name in only)


def _key(name: str) -> str | Pipe:
    pipe, _, precision = name.partition("_")
    return (precision, pipe) if precision else name


def _compiled(target: str, scratch: Path) -> Path:
    compiler = rocm.find_program("hipcc")
    if compiler is None:
        raise UnavailableError("hipcc was not found: the microbenchmarks are compiled for the present device", "install it")
    program = scratch / "ceilings"
    with as_file(files("rocm_perf_lab.profiling").joinpath("ceilings.hip")) as source:
        f16, f8, i8 = _DEPTHS.get(target, (8, 16, 16))
        depths = [f"-DCEILING_F16_DEPTH={f16}", f"-DCEILING_F8_DEPTH={f8}", f"-DCEILING_I8_DEPTH={i8}"]
        flags = ["-O3", "-std=c++20", f"--offload-arch={target}", *depths]
        completed = subprocess.run([compiler, *flags, "-o", program, source], capture_output=True, text=True)
    if completed.returncode:
        raise UnavailableError(
            f"hipcc cannot compile the microbenchmarks: {completed.stderr.strip()}", "check it with --version"
        )
    return program


def _rate(tracer: BuiltinTracer, program: Path, arguments: tuple[str, ...], scratch: Path) -> Ceiling:
    """The benchmark's rate in units of work per nanosecond, that is, in GB/s or GFLOP/s."""
    name, repeats = arguments[0], int(arguments[1])
    database, work_file = scratch / f"{name}.db", scratch / f"{name}.txt"
    command = Command((str(program), *arguments), program, f"ceilings {name}")
    with work_file.open("wb") as output, (scratch / f"{name}.log").open("wb") as errors:
        tracer.trace(command, dict(os.environ), database, output, errors)
    short_work, long_work = map(float, work_file.read_text().split())
    durations = _durations(database)
    if len(durations) != 2 * (repeats + 1):
        raise RocmPerfError(f"{name}: the trace has {len(durations)} of {2 * (repeats + 1)} launches")
    pairs = list(zip(durations[2::2], durations[3::2], strict=True))  # the first pair is a warm-up
    if any(long <= short for short, long in pairs):
        raise RocmPerfError(f"{name}: more work took no more time: the launches are too short to measure")
    rates = [(long_work - short_work) / (long - short) for short, long in pairs]
    return Ceiling(statistics.median(rates), min(rates), max(rates))


def _durations(database: Path) -> list[int]:
    """The durations of the benchmark's own launches in nanoseconds, in launch order."""
    trace = read_trace(database)
    own = [kernel.id for kernel in trace.kernels.values() if kernel.name.startswith(_KERNEL_PREFIX)]
    dispatches = trace.dispatches
    return [int(ns) for ns, kernel in zip(dispatches.duration, dispatches.kernel_id, strict=True) if kernel in own]


def _reason(log: Path) -> str | None:
    """The software device's first message in the log; None if there is none."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return next((line for line in lines if line.startswith("rocm-perf-device:")), None)
