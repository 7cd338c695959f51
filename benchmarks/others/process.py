"""A command with a time limit, and its output."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEPT_BYTES = 4 << 20  # bytes of a log that are read, half of them from each end


@dataclass(frozen=True)
class RunResult:
    status: int | None  # as in subprocess (negative: the signal that ended it); None: stopped at the time limit
    seconds: float
    output: str


def device_environment() -> dict[str, str]:
    """The environment, with one device thread by default: programs may run side by side, and results are easier to compare."""
    return {"ROCM_PERF_DEVICE_THREADS": "1"} | os.environ


def run(
    command: Sequence[str], folder: Path, log: Path, timeout: float, more_environment: Mapping[str, str] | None = None
) -> RunResult:
    """Run a command, with its output in `log`. Everything that it started ends with it."""
    began = time.monotonic()
    status: int | None = None
    with log.open("wb") as output, session(command, folder, more_environment, stdout=output) as started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = started.wait(timeout)
    return RunResult(status, round(time.monotonic() - began, 2), ends(log))


_starting = threading.RLock()


@contextlib.contextmanager
def session(
    command: Sequence[str], folder: Path, more_environment: Mapping[str, str] | None = None, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended when the context is left, with everything that it has started."""
    environment = device_environment() | dict(more_environment or {})
    pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, **options}
    with _starting:
        started = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)
    try:
        yield started
    finally:
        _end(started.pid)
        started.wait()


def _end(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _children() -> list[int]:
    """The child processes according to the system: a list of our own would lack the one that is just being started."""
    threads = Path("/proc/self/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


def end_with_sessions() -> None:
    """From now on, signals that end this process also end what it has started, which runs in separate sessions."""

    def stop(number: int, _frame: object) -> None:
        with _starting:  # no other thread starts a process now
            for child in _children():
                _end(child)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)  # in case it has no session of its own yet
                with contextlib.suppress(ChildProcessError):  # another thread has waited for it
                    os.waitpid(child, 0)
            os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, stop)


def ends(log: Path) -> str:
    """The beginning and the end of the log, since programs in an endless loop write gigabytes."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        first = file.read(KEPT_BYTES // 2)
        file.seek(max(len(first), size - KEPT_BYTES // 2))
        return (first + file.read()).decode(errors="replace")
