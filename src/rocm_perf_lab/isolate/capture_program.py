"""Runs a program under the isolate library, which captures one dispatch and does not otherwise affect the program."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from rocm_perf_lab import cage, native
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import device_code, kernel_failures
from rocm_perf_lab.collect.command import Command, resolve
from rocm_perf_lab.collect.execute import execute, execute_attached
from rocm_perf_lab.errors import NoCaptureError, OutputError
from rocm_perf_lab.isolate.capture_directory import NEWEST, Capture
from rocm_perf_lab.isolate.kernel_filter_server import answering
from rocm_perf_lab.kernel_pattern import checked

_DAY_SECONDS = 86400.0
_ASK = "ask"
_VARIABLES = (
    "ISOLATE_KERNEL", "ISOLATE_ASK", "ISOLATE_DISPATCH_INDEX", "ISOLATE_OUTPUT_DIR", "ISOLATE_ZSTD_LEVEL", "ISOLATE_REPORT",
)  # fmt: skip
_BEGUN, _CAPTURED, _FAILED, _UNWRITABLE = "begun", "captured", "failed", "unwritable"  # events that the isolate library reports


@dataclass(frozen=True)
class CaptureRequest:
    """What to capture. kernel: a pattern, as in kernel_pattern; dispatch: index (from 0) among the dispatches of matching
    kernels; directory: the folder that receives isolate_capture_<pid>; zstd_level: None to store memory uncompressed.
    """

    command: Sequence[str]
    kernel: str
    dispatch: int = 0
    directory: Path = Path()
    zstd_level: int | None = None
    device: str = devices.AUTO
    device_options: Sequence[str] = ()
    view: View | None = None  # what the program can see in its cage; None for no cage


def capture(
    command: Sequence[str],
    kernel: str,
    dispatch: int = 0,
    directory: Path = Path(),
    *,
    zstd_level: int | None = None,
    device: str = devices.AUTO,
    timeout: float | None = None,
    output: IO[bytes] | int | None = subprocess.DEVNULL,
    view: View | None = None,
) -> Capture:
    """Run `command` to completion and capture one of its dispatches. The command's standard output goes to `output`.

    view: what the cage shows; None for no cage. Raises the errors of execute() (even if the capture itself succeeded),
    NoCaptureError, OutputError, KernelFailedError, UnavailableError, NoCageError, and UsageError for a kernel pattern that is
    not a regular expression.
    """
    checked(kernel)
    request = CaptureRequest(command, kernel, dispatch, directory, zstd_level, device, view=view)

    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        run = _prepared(request, Path(scratch))
        with _nothing_half_done(run.report), answering(kernel, Path(scratch) / _ASK):
            execute(run.command, run.environment, stdout=output, stderr=subprocess.DEVNULL, timeout=timeout)
        kernel_failures.raise_if_any(run.program, run.failures)
        return Capture.open(_the_capture(request, run.report))


def isolate(
    request: CaptureRequest, output: IO[bytes] | int | None = None, note: Callable[[str], None] = lambda _text: None
) -> tuple[int, Path | None]:
    """Like capture(), but attached to this process's terminal. Returns the program's exit status, as a shell would see it, and
    the capture.

    output: replaces the program's standard output. The capture is None if the program failed before the capture was complete.
    Raises NoCaptureError or OutputError if the program succeeded without a capture, KernelFailedError if it succeeded although
    a kernel failed, and WrongTargetError.
    """
    checked(request.kernel)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        run, asked = _prepared(request, Path(scratch)), Path(scratch) / _ASK
        expected = device_code.checking_device_code(run.command, os.environ, run.device, note)
        with expected as explain, _nothing_half_done(run.report), answering(request.kernel, asked):
            status = execute_attached(run.command, run.environment, output, interruptible=True)
            if status != 0:
                explain()
        if status == 0:
            kernel_failures.raise_if_any(run.program, run.failures)
        elif not _reported(run.report, _CAPTURED):
            return status, None
        return status, _the_capture(request, run.report)


@contextlib.contextmanager
def _nothing_half_done(report: Path) -> Iterator[None]:
    """If the program is interrupted, remove the capture that it was writing."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        complete = {text.removeprefix("captured to ") for text in _reported(report, _CAPTURED)}
        for folder in map(Path, set(_reported(report, _BEGUN)) - complete):
            shutil.rmtree(folder, ignore_errors=True)
            link = folder.with_name(NEWEST)
            if link.is_symlink() and not link.exists():
                link.unlink()
        raise


@dataclass(frozen=True)
class _PreparedRun:
    """A prepared run of the program.

    report, failures: files written by the isolate library and the device. program: the program's name as the user wrote it.
    """

    command: Command
    environment: dict[str, str]
    device: devices.Device
    report: Path
    failures: Path

    @property
    def program(self) -> str:
        return self.command.program


def _prepared(request: CaptureRequest, scratch: Path) -> _PreparedRun:
    command = resolve(request.command)
    device = devices.select(request.device, scratch, request.device_options)
    report, failures = scratch / "report", scratch / "failures"
    environment = device.environment(os.environ, (devices.loadable(native.isolate_library(), scratch),))
    environment |= {
        "ISOLATE_KERNEL": request.kernel,
        "ISOLATE_ASK": str(scratch / _ASK),
        "ISOLATE_DISPATCH_INDEX": str(request.dispatch),
        "ISOLATE_OUTPUT_DIR": str(request.directory.absolute()),
        "ISOLATE_ZSTD_LEVEL": str(request.zstd_level or 0),
        "ISOLATE_REPORT": str(report),
    } | kernel_failures.variables(failures)
    if request.view is not None:
        environment |= cage.copy_of_cache(scratch / "compiled")
        view = request.view.showing(writable=(scratch, request.directory.absolute()))
        command = _caged(command, replace(view, gpu=device.is_hardware, keep_env=(*view.keep_env, *_VARIABLES)))
    return _PreparedRun(command, environment, device, report, failures)


def _caged(command: Command, view: View) -> Command:
    """The command that runs `command` in the cage. The program can change the files that the library writes, so the
    capture is validated like any other.
    """
    words = (str(command.executable), *command.argv[1:])
    caged = cage.within(words, Path.cwd(), view, CageLimits(seconds=_DAY_SECONDS))
    return Command(tuple(caged), Path(caged[0]), command.program)


def _the_capture(request: CaptureRequest, report: Path) -> Path:
    if captured := _reported(report, _CAPTURED):
        return Path(captured[-1].removeprefix("captured to "))
    if unwritable := _reported(report, _UNWRITABLE):
        raise OutputError(unwritable[-1], "name a writable folder with enough space with --output")
    if failures := _reported(report, _FAILED):
        raise NoCaptureError(failures[-1], "choose another --kernel or --dispatch, or fix the named cause")
    raise NoCaptureError(
        f"{request.command[0]} ended without a capture, and without any message from the isolate library",
        "check that it uses the GPU through ROCr in this or a child process",
    )


def _reported(report: Path, wanted: str) -> list[str]:
    """The texts of all `wanted` events that the library reported, from all processes, in order."""
    if not report.exists():
        return []
    lines = [os.fsdecode(line).partition("\t")[::2] for line in report.read_bytes().splitlines()]
    return [text for event, text in lines if event == wanted]
