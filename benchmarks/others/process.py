"""One command with a time limit, and what it said."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = 4 << 20  # bytes of a log that are looked at, half of them from each end


@dataclass(frozen=True)
class Ran:
    status: int | None  # minus the signal that ended it, as of subprocess; None: it was stopped for its time
    seconds: float
    output: str


def device_environment() -> dict[str, str]:
    """One thread, unless told otherwise: several programs may run at a time, and results are then easier to compare."""
    return {"ROCM_PERF_DEVICE_THREADS": "1"} | os.environ


def run(command: Sequence[str], folder: Path, log: Path, timeout: float, more: Mapping[str, str] | None = None) -> Ran:
    """Everything that it started ends with it. Its output is in log."""
    began = time.monotonic()
    with log.open("wb") as output:
        started = subprocess.Popen(
            command,
            cwd=folder,
            env=device_environment() | dict(more or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status = _wait(started, timeout)
    return Ran(status, round(time.monotonic() - began, 2), ends(log))


def _wait(started: subprocess.Popen[bytes], timeout: float) -> int | None:
    try:
        return started.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end(started)


def end(started: subprocess.Popen[bytes]) -> None:
    """With all processes that it has started."""
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    started.wait()


def ends(log: Path) -> str:
    """Programs in a loop write gigabytes."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        first = file.read(KEPT // 2)
        file.seek(max(len(first), size - KEPT // 2))
        return (first + file.read()).decode(errors="replace")
