"""Starts commands in the cage."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from rocm_perf_lab import native
from rocm_perf_lab.cage import mechanism as mechanisms
from rocm_perf_lab.cage.limits import CageLimits, CageResult
from rocm_perf_lab.cage.mechanism import Mechanism
from rocm_perf_lab.cage.mounts import mounts
from rocm_perf_lab.cage.view import View
from rocm_perf_lab.errors import NoCageError
from rocm_perf_lab.process.child import DeferredInterrupts, wait

_LAUNCHER = Path(__file__).with_name("launch") / "launcher.py"
_KEPT_OUTPUT = 1 << 20
_PATIENCE_SECONDS = 30.0  # extra time for the launcher, which enforces the time limit itself
REMEDY = (
    "install bubblewrap, or allow user namespaces (kernel.unprivileged_userns_clone, user.max_user_namespaces), "
    "or use --trust-candidates for candidates that you trust"
)


def within(command: Sequence[str], folder: Path, view: View = View(), limits: CageLimits = CageLimits()) -> list[str]:
    """The command line that runs `command` in `folder` in the cage; it must be started by this process or a descendant.

    Environment variables are passed on if the view allows them; file descriptors other than the standard streams are not. The
    launcher ends with the command's status, or by the signal that ended the command; if a limit is exceeded, it prints a line
    that names the limit on standard error and ends by SIGKILL. Raises NoCageError if there is no cage.
    """
    if view.trusted:
        return command_line(Mechanism("trusted", False), command, folder, view, limits)
    return command_line(mechanisms.mechanism_for_folder(expect_mechanism(), folder), command, folder, view, limits)


def in_words(view: View) -> str:
    """The mechanism that confines commands with this view, in words, for the gate's evidence."""
    return "none, as requested" if view.trusted else str(mechanisms.kind())


def expect_mechanism() -> Mechanism:
    """The mechanism for cages on this machine. Raises NoCageError if there is none."""
    mechanism = mechanisms.best_mechanism()
    if mechanism is None:
        raise NoCageError("this machine cannot cage candidates: it has neither bubblewrap nor user namespaces", REMEDY)
    return mechanism


def command_line(
    mechanism: Mechanism, command: Sequence[str], folder: Path, view: View = View(), limits: CageLimits = CageLimits()
) -> list[str]:
    """Like within(), but with the given mechanism."""
    if view.traces:
        view = replace(view, writable=(*view.writable, view.traces))
    mounted = mounts(command, folder, view, limits, mechanism.overlays)
    settings = [
        f"mechanism={mechanism.kind}",
        f"program={mechanism.program}",
        *(f"option={option}" for option in mechanism.options),
        f"owner={os.getpid()}",
        f"folder={os.path.abspath(folder)}",
        *(f"{name}={value}" for name, value in vars(limits).items()),
        *(f"writable={os.path.realpath(path)}" for path in view.writable),
        *(f"memory_folder={path}" for path in mounted.in_memory),
        *(f"keep={name}" for name in view.keep_env),
        *([f"traces={view.traces}", f"writer={native.rocpd_writer()}"] if view.traces else []),
    ]
    return [sys.executable, "-I", "-S", str(_LAUNCHER), *settings, "--", *mounted.words, "--", *command]


def run(
    command: Sequence[str],
    folder: Path,
    view: View = View(),
    environment: Mapping[str, str] | None = None,
    limits: CageLimits = CageLimits(),
) -> CageResult:
    """Run a command until it ends or exceeds a limit. However this function ends, no process of the cage is left running.

    Standard input is empty. environment: None for this process's own. Raises NoCageError if there is no cage, or if it cannot
    be built.
    """
    launcher = within(command, folder, view, limits)
    started = time.monotonic()
    with (
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
        tempfile.TemporaryFile() as report,
        DeferredInterrupts() as interrupts,
    ):
        launcher.insert(launcher.index("--"), f"report={report.fileno()}")
        process = subprocess.Popen(
            launcher,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=[report.fileno()],
        )
        timed_out = False
        try:
            interrupts.deliver()
            wait(process, limits.seconds + (0 if view.trusted else _PATIENCE_SECONDS))
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _end(process, view.trusted)
        _expect_cage(_tail(report), process.returncode, _tail(stderr), view)
        exceeded = _tail(report).decode().partition("limit ")[2]
        limit = f"did not end within {limits.seconds:g} s" if timed_out else exceeded
        late = timed_out or exceeded.startswith("did not end")
        return CageResult(process.returncode, _tail(stdout), _tail(stderr), time.monotonic() - started, late, limit)


def _expect_cage(report: bytes, status: int, stderr: bytes, view: View) -> None:
    """Raise NoCageError if the launcher reports a failure or, with a cage, reports nothing although no signal ended it."""
    if report == b"failed" or (not report and status >= 0 and not view.trusted):
        last = (stderr.decode(errors="replace").strip().splitlines() or ["no error message"])[-1]
        raise NoCageError(f"the cage could not be made: {last}", REMEDY)


def _end(process: subprocess.Popen[bytes], trusted: bool) -> None:
    """End the remaining processes; the launcher ends the cage before it exits."""
    if process.poll() is None and not trusted:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _KEPT_OUTPUT))
    return file.read()
