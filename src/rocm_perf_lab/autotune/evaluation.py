"""Evaluates one configuration: build, run, check, measure. A failure is an outcome, too, unless the disk is full."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from rocm_perf_lab.autotune.evaluation_outcome import (
    BUILD_FAILED,
    FAILED,
    GPU,
    OK,
    TIMEOUT,
    WALL,
    WRONG_OUTPUT,
    EvaluationOutcome,
    variation,
)
from rocm_perf_lab.autotune.program import FilledCommands, TunedProgram, for_target
from rocm_perf_lab.collect import device_code, kernel_failures
from rocm_perf_lab.collect.command import Command, resolve
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.execute import Stream, execute
from rocm_perf_lab.errors import NoKernelsError, OutputError, ProgramTimeoutError, RocmPerfError
from rocm_perf_lab.process.child import stoppable

UNSTABLE_CV = 0.10
_MAX_RUNS_FACTOR = 3  # unstable measurements are repeated up to this multiple of the requested runs
_MIN_BYTES = 1 << 16  # less free space than this counts as none: compiling and tracing would fail
_HINT = "free some space, or name another folder in TMPDIR"
_FAILURES = "failures"
_SHOWN = 300  # a reason quotes at most this many characters of a failed step's output

Measurement = tuple[float, dict[str, int]]


class Timer(Protocol):
    """Measures the time of one run in ms and, if it can see kernels, the resources of the longest one. name: GPU or WALL."""

    @property
    def name(self) -> str: ...

    @property
    def modelled(self) -> bool: ...

    def measure(self, argv: list[str], environment: Mapping[str, str], folder: Path, output: Stream) -> Measurement: ...


@dataclass(frozen=True)
class GpuTimer:
    """Measures the time spent in all kernels of one run, except the HIP runtime's own, using a collector from
    rocm_perf_lab.collect.
    """

    trace: Callable[[Command, Mapping[str, str], Path, Stream, BinaryIO], None]
    device: Device

    name = GPU

    @property
    def modelled(self) -> bool:
        return not self.device.is_hardware

    def measure(self, argv: list[str], environment: Mapping[str, str], folder: Path, output: Stream) -> Measurement:
        """Raises NoKernelsError if only the runtime used the GPU, or nothing did."""
        from rocm_perf_lab.analysis.symbols import symbols_of
        from rocm_perf_lab.rocpd.reader import read_trace

        database = folder / "run_results.db"
        command = resolve(argv)
        with (folder / "stderr").open("wb") as errors, device_code.checking_device_code(command, environment, self.device):
            self.trace(command, environment, database, output, errors)
        trace = read_trace(database)
        symbols = [symbol for symbol in symbols_of(trace) if not symbol.is_runtime]
        if not symbols:
            raise NoKernelsError(f"{argv[0]} launched no GPU kernel", "tune with `--measure wall`")
        dispatches, longest = trace.dispatches, symbols[0]
        resources = {
            "vgprs": int(longest.kernel.arch_vgprs),
            "lds_bytes": int(dispatches.lds_bytes[longest.longest]),
            "workgroup_size": int(dispatches.workgroup[longest.longest].prod()),
        }
        for file in folder.glob("run_results*"):
            file.unlink()
        return sum(symbol.total_ns for symbol in symbols) / 1e6, resources


@dataclass(frozen=True)
class WallTimer:
    """Measures the time from the start to the end of the process. device: None if the process cannot use any device."""

    device: Device | None = None
    timeout: float | None = None
    modelled: bool = False

    name = WALL

    def measure(self, argv: list[str], environment: Mapping[str, str], folder: Path, output: Stream) -> Measurement:
        command = resolve(argv)
        with (folder / "stderr").open("wb") as errors, self._expect_device_code(command, environment):
            began = time.perf_counter()
            execute(command, self._environment(environment, folder), stdout=output, stderr=errors, timeout=self.timeout)
            elapsed_ms = (time.perf_counter() - began) * 1e3
        kernel_failures.raise_if_any(argv[0], folder / _FAILURES)
        return elapsed_ms, {}

    def _expect_device_code(self, command: Command, environment: Mapping[str, str]) -> AbstractContextManager[object]:
        return device_code.checking_device_code(command, environment, self.device) if self.device else contextlib.nullcontext()

    def _environment(self, base: Mapping[str, str], folder: Path) -> Mapping[str, str]:
        return self.device.environment(base) | kernel_failures.variables(folder / _FAILURES) if self.device else base


class Evaluation:
    """Evaluates configurations of one program. timeout: for each step, in seconds.

    runs: how often each configuration is measured; up to three times as often if its times vary too much.
    target: the LLVM target to build for, None without a device.
    timers: tried in this order; the first that can measure a configuration also measures all later ones, so that times are
    comparable.
    """

    def __init__(
        self,
        program: TunedProgram,
        timers: Sequence[Timer],
        runs: int,
        timeout: float | None,
        scratch: Path,
        target: str | None = None,
    ):
        self._program, self._timers, self._runs = program, list(timers), runs
        self._timeout, self._scratch, self._target = timeout, scratch, target
        self._deciding, self._stopped = threading.Lock(), threading.Event()

    def __call__(self, values: dict[str, object], extra: Mapping[str, str] | None = None) -> EvaluationOutcome:
        """extra: environment variables, such as the one that selects a GPU. Raises OutputError if files cannot be written."""
        try:
            with stoppable(self._stopped), tempfile.TemporaryDirectory(dir=self._scratch) as name:
                folder = Path(name)
                commands = self._program.commands(values, folder / "output")
                outcome = self._outcome(commands, os.environ | (extra or {}) | commands.environment, folder)
                is_full = outcome.status != OK and shutil.disk_usage(folder).free < _MIN_BYTES
        except OSError as error:
            raise OutputError(f"cannot write into {self._scratch} ({error.strerror or error})", _HINT) from error
        if is_full:  # The failure then says nothing about the configuration.
            raise OutputError(f"no space is left in {self._scratch}", _HINT)
        return outcome

    def stop(self) -> None:
        """Make the evaluations in other threads stop soon."""
        self._stopped.set()

    def keep(self, measure: str) -> None:
        """Use only the timer of this name, as for an earlier result; this has no effect if there is no such timer."""
        self._timers = [timer for timer in self._timers if timer.name == measure] or self._timers

    def _outcome(self, commands: FilledCommands, environment: Mapping[str, str], folder: Path) -> EvaluationOutcome:
        for_build = for_target(self._target) | dict(environment)
        if commands.build and (failed := self._run_step(commands.build, for_build, folder, BUILD_FAILED)):
            return failed
        try:
            return self._measure(commands, environment, folder)
        except ProgramTimeoutError as error:
            return EvaluationOutcome(TIMEOUT, error.problem)
        except RocmPerfError as error:
            return EvaluationOutcome(FAILED, _reason(error, folder / "stderr"))

    def _measure(self, commands: FilledCommands, environment: Mapping[str, str], folder: Path) -> EvaluationOutcome:
        stdout = folder / "stdout"
        with stdout.open("wb") as stream:
            timer, (first, resources) = self._first_run(commands.command, environment, folder, stream)
        if commands.check and (failed := self._run_step(commands.check, environment, folder, WRONG_OUTPUT, stdout)):
            return failed
        runs, wanted = [first], self._runs
        while len(runs) < wanted:
            runs.append(timer.measure(commands.command, environment, folder, subprocess.DEVNULL)[0])
            if len(runs) == wanted and _is_unstable(runs):
                wanted = min(wanted + self._runs, _MAX_RUNS_FACTOR * self._runs)
        return EvaluationOutcome(OK, None, runs, timer.name, _is_unstable(runs), timer.modelled, resources)

    def _first_run(
        self, command: list[str], environment: Mapping[str, str], folder: Path, output: BinaryIO
    ) -> tuple[Timer, Measurement]:
        with self._deciding:
            timers = list(self._timers)
            if len(timers) > 1:
                try:
                    measurement = timers[0].measure(command, environment, folder, output)
                except NoKernelsError:
                    output.seek(0)
                    output.truncate()
                    timers = timers[1:]
                    measurement = timers[0].measure(command, environment, folder, output)
                self._timers = timers[:1]
                return self._timers[0], measurement
        return timers[0], timers[0].measure(command, environment, folder, output)

    def _run_step(
        self, argv: list[str], environment: Mapping[str, str], folder: Path, status: str, stdin: Path | None = None
    ) -> EvaluationOutcome | None:
        """The outcome if the step fails, else None. stdin: the program's output, for a check to read."""
        try:
            command = resolve(argv)
            with stdin.open("rb") if stdin else open(os.devnull, "rb") as stream, (folder / "step").open("wb") as log:
                execute(command, environment, stdin=stream, stdout=log, stderr=subprocess.STDOUT, timeout=self._timeout)
        except ProgramTimeoutError as error:
            return EvaluationOutcome(TIMEOUT, error.problem)
        except RocmPerfError as error:
            return EvaluationOutcome(status, _reason(error, folder / "step"))
        return None


def _is_unstable(runs: list[float]) -> bool:
    return (variation(runs) or 0.0) > UNSTABLE_CV


def _reason(error: RocmPerfError, stderr: Path) -> str:
    last_output = _tail(stderr)
    return f"{error.problem}: {last_output}" if last_output else error.problem


def _tail(path: Path) -> str:
    """The end of a file's text, however long the file is; empty if there is no file."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 4 * _SHOWN))  # a character takes at most four bytes
        return " ".join(stream.read().decode("utf-8", "replace").split())[-_SHOWN:]
