"""The limits of a caged command, and how it ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class CageLimits:
    """Limits for the command and all its processes together.

    seconds: wall time. memory_bytes: memory in use, including shared memory and files in memory, but not memory that is only
    reserved. processes: includes threads. file_bytes: size of the largest file. disk_bytes, files: growth of the writable
    folders, in bytes and in number of files and folders.
    """

    seconds: float = 300.0
    memory_bytes: int = 16 << 30
    processes: int = 2048
    file_bytes: int = 4 << 30
    disk_bytes: int = 32 << 30
    files: int = 100_000


@dataclass(frozen=True)
class CageResult:
    """How a caged command ended.

    status: exit status, or minus the number of the signal that ended it. stdout, stderr: the last MiB of each. seconds: wall
    time. timed_out: whether it was stopped at the time limit. limit: the limit that it exceeded, in words; empty if none.
    """

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool
    limit: str = ""

    @property
    def succeeded(self) -> bool:
        return self.status == 0 and not self.limit

    @property
    def complaint(self) -> str:
        """How the command failed, in a few words."""
        if self.limit:
            return f"it {self.limit}"
        if self.status < 0:
            return f"it was killed by {signal.Signals(-self.status).name}"
        return f"it exited with status {self.status}"
