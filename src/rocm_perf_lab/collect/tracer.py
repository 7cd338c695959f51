"""The built-in tracer: a library loaded into the program records events, and a database is made from its records."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import kernel_failures, rocprofv3_options, rocprofv3_output
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.device import Device, loadable
from rocm_perf_lab.collect.execute import Stream, execute
from rocm_perf_lab.errors import CollectionError, NoKernelsError, RocmPerfError
from rocm_perf_lab.passes import THREAD_TRACE, Pass, ThreadTraceTarget

_IDLE_SECONDS = 120.0  # the longest time without a sign of life from a writer
_ABANDON_SECONDS = 10.0  # the time allowed for a trace that is no longer wanted
_POLL_SECONDS = 0.01
_PROBE_BYTES = 1 << 20  # the size of a small program's trace


@dataclass(frozen=True)
class BuiltinTracer:
    """Traces on a GPU as well as on the software device. If the device has counters, each trace includes them."""

    device: Device
    library: Path
    writer: Path
    timeout: float | None = None

    name = "the built-in tracer"

    @classmethod
    def on(cls, device: Device, scratch: Path, timeout: float | None) -> BuiltinTracer:
        return cls(device, loadable(native.tracer_library(), scratch), native.rocpd_writer(), timeout)

    def trace(
        self,
        command: Command,
        environment: Mapping[str, str],
        database: Path,
        output: Stream | None,
        errors: Stream | None = None,
    ) -> None:
        """Run `command` once and leave its trace in `database`; its standard output goes to `output`, its errors to `errors`.

        Raises whatever execute() raises, NoKernelsError, KernelFailedError, CollectionError, and OSError if the disk is full.
        """
        try:
            execute(command, self._environment(environment, database), stdout=output, stderr=errors, timeout=self.timeout)
        except BaseException:
            # The writers are still working. Without this wait, they would report errors when the run directory disappears.
            _await_writers(database.parent, _ABANDON_SECONDS, at_most=_ABANDON_SECONDS)
            raise
        if not _await_writers(database.parent, _IDLE_SECONDS):
            raise CollectionError(
                f"the trace of {command.program} is not being written: no progress for {_IDLE_SECONDS:g} s after its end",
                "end what the program left running on the GPU, if anything; otherwise try a smaller run",
            )
        kernel_failures.raise_if_any(command.program, _failures(database))
        _check(command, database)

    def restricted_to(self, _kernels: Sequence[str] | None) -> BuiltinTracer:
        """Return self: every trace includes the counters, and they cover all kernels."""
        return self

    def collect_counters(self, command: Command, environment: Mapping[str, str], folder: Path, limit: float) -> list[Pass]:
        """No passes: a device that has counters records them in every trace."""
        return []

    def record_thread_trace(
        self, target: ThreadTraceTarget, command: Command, environment: Mapping[str, str], folder: Path, limit: float
    ) -> Pass:
        """In a separate run, have the software device write the files that rocprofv3 would write for the targets."""
        if self.device.is_hardware:
            reason = "the built-in tracer cannot make thread traces on a GPU: install rocprofv3 and rocprof-trace-decoder"
            return Pass(THREAD_TRACE, None, reason, kernel=target.name)
        folder.mkdir()
        wanted = self.device.environment(environment) | _thread_trace_variables(target, folder)
        with (folder / "thread_trace.log").open("wb") as log:
            try:
                execute(command, wanted, stdout=log, stderr=log, timeout=limit)
            except RocmPerfError as error:
                return Pass(THREAD_TRACE, None, error.problem, kernel=target.name)
        if not rocprofv3_output.holds_thread_trace(folder):
            return Pass(THREAD_TRACE, None, rocprofv3_output.why_no_thread_trace(folder, target.cu), kernel=target.name)
        return Pass(THREAD_TRACE, folder, kernel=target.name)

    def _environment(self, base: Mapping[str, str], database: Path) -> dict[str, str]:
        environment = self.device.environment(base, (self.library,))
        # Preloading the library as well lets the tracer see the HIP calls, and through them the streams.
        preloads = [str(self.library), environment.get("LD_PRELOAD", "")]
        environment["LD_PRELOAD"] = " ".join(filter(None, preloads))
        environment["ROCM_PERF_TRACE"] = str(database)
        environment["ROCM_PERF_ROCPD_WRITER"] = str(self.writer)
        return environment | kernel_failures.variables(_failures(database))


def _failures(database: Path) -> Path:
    return database.with_suffix(".failures")


def _thread_trace_variables(target: ThreadTraceTarget, folder: Path) -> dict[str, str]:
    return {
        devices.THREAD_TRACE_VARIABLE: str(folder),
        devices.THREAD_TRACE_KERNEL_VARIABLE: rocprofv3_options.name_pattern(target.symbol),
        devices.THREAD_TRACE_ITERATION_VARIABLE: str(target.iteration),
        devices.THREAD_TRACE_ALSO_VARIABLE: ",".join(
            f"{symbol}={iteration}" for symbol, iteration in target.also_traced.items()
        ),
        devices.THREAD_TRACE_CU_VARIABLE: str(target.cu),
        devices.THREAD_TRACE_SIMDS_VARIABLE: hex(target.simds),
    }


def _await_writers(folder: Path, idle_seconds: float, at_most: float = math.inf) -> bool:
    """Wait for the writers, one for each process that used the GPU; a writer begins its work when its process has
    ended.

    Returns False if none has made progress for `idle_seconds`, or if they took more than `at_most` seconds.
    """
    seen, deadline = None, 0.0
    end = time.monotonic() + at_most
    while _being_written(folder):
        if (progress := _progress(folder)) != seen:
            seen, deadline = progress, time.monotonic() + idle_seconds
        if time.monotonic() > min(deadline, end):
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _progress(folder: Path) -> list[tuple[str, int, int]]:
    """A value that changes whenever a writer makes progress, because a writer touches the file that it fills."""
    progress = []
    for partial in folder.glob("*.partial"):
        with contextlib.suppress(FileNotFoundError):  # renamed just now
            status = partial.stat()
            progress.append((partial.name, status.st_size, status.st_mtime_ns))
    return sorted(progress)


def _being_written(folder: Path) -> bool:
    """Whether any process's records (its spool) remain: they do until its writer has made a database from them or failed."""
    return any(not spool.with_suffix(".error").exists() for spool in folder.glob("*.spool"))


def _check(command: Command, database: Path) -> None:
    failure = database.with_name(database.name + ".error")
    if failure.exists() or not database.exists():
        _probe_space(database.parent)
    if failure.exists():
        raise CollectionError(
            f"the trace of {command.program} could not be written: {failure.read_text().strip()}",
            "try again, with more free space for -o",
        )
    if not database.exists():
        raise NoKernelsError(f"{command.program} never started the ROCm runtime", "profile a program that launches GPU kernels")


def _probe_space(folder: Path) -> None:
    """Write to the folder to provoke the OSError, if any, that may have kept the tracer from recording anything."""
    probe = folder / "probe"
    probe.write_bytes(bytes(_PROBE_BYTES))
    probe.unlink()
