"""Run a compiler or a candidate within limits: time, memory, file size, no network where the system lets us say so.

The limits are set between fork and exec by a small launcher (confined_launcher.py), so that this process keeps its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect.child import DeferredInterrupts, wait

_LAUNCHER = Path(__file__).with_name("confined_launcher.py")
_KEPT_OUTPUT = 1 << 20


@dataclass(frozen=True)
class Limits:
    """seconds: wall time. memory_bytes: private writable memory a process. file_bytes: largest file it may write."""

    seconds: float = 300.0
    memory_bytes: int = 8 << 30
    file_bytes: int = 4 << 30


# ROCr with a GPU model (7.2.4) allocates and never touches 9 times what it finds in a 32-bit number that nobody set, up to
# 36 GiB. A limit that these come close to fails later, in whatever needs a little.
GPU_PROGRAM = Limits(memory_bytes=(8 + 36) << 30)
"""For programs that use the GPU."""


@dataclass(frozen=True)
class Ended:
    """status: exit status, negative the signal that ended it. output: its last MiB of stdout and stderr, each.

    seconds: wall time. timed_out: ended by us at the limit.
    """

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool

    @property
    def succeeded(self) -> bool:
        return self.status == 0 and not self.timed_out

    @property
    def complaint(self) -> str:
        """How it failed, in a few words."""
        if self.timed_out:
            return f"it did not end within {self.seconds:.0f} s"
        if self.status < 0:
            return f"it was killed by {signal.Signals(-self.status).name}"
        return f"it exited with status {self.status}"


def within(command: Sequence[str], limits: Limits) -> list[str]:
    """The command that sets the limits on memory and files, leaves the network, and becomes `command`."""
    return [sys.executable, "-I", str(_LAUNCHER), str(limits.memory_bytes), str(limits.file_bytes), "--", *command]


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None, limits: Limits = Limits()) -> Ended:
    """Run to the end or to a limit; no process of it is left whatever ends this function. Standard input is empty."""
    launcher = within(command, limits)
    started = time.monotonic()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr, DeferredInterrupts() as interrupts:
        process = subprocess.Popen(
            launcher,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        timed_out = False
        try:
            interrupts.deliver()
            wait(process, limits.seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _kill_group(process)
        return Ended(process.returncode, _tail(stdout), _tail(stderr), time.monotonic() - started, timed_out)


def _kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _tail(file) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _KEPT_OUTPUT))
    return file.read()
